#include <fstream>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <zstd.h>

#include "core/files.h"
#include "core/sha256.h"
#include "core/time.h"
#include "e2e/tester/tester_process.h"

namespace assay::serve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Requests that no honest client makes.
class Hostile : public TesterTest {
 protected:
  struct Upload {
    std::string path;
    std::string content;
  };
  static Json manifest_of(const std::vector<Upload>& files, const Json& claim = Json::object()) {
    Json list = Json::array();
    for (const Upload& one : files)
      list.push_back(
          {{"path", one.path}, {"size", one.content.size()}, {"sha256", sha256(one.content)}});
    return {{"files", list}, {"claim", claim}};
  }
  std::string new_test() {
    const Reply made = ask("POST", "/api/v1/tests", "{}");
    EXPECT_EQ(made.status, 201) << made.response.body;
    return "/api/v1/tests/" + made.json.value("test_id", "");
  }
  /// Sends everything and asks for the judgement.
  Reply judged(const std::vector<Upload>& files) {
    const std::string path = new_test();
    EXPECT_EQ(ask("PUT", path + "/manifest", manifest_of(files).dump()).status, 200);
    for (std::size_t n = 0; n < files.size(); ++n)
      for (std::size_t at = 0; at < files[n].content.size(); at += 8 << 20) {
        const Reply sent = ask("PUT", fmt::format("{}/files/{}?offset={}", path, n, at),
                               files[n].content.substr(at, 8 << 20));
        EXPECT_EQ(sent.status, 200) << sent.response.body;
      }
    Reply reply;
    EXPECT_TRUE(
        e2e::eventually([&] { return (reply = ask("POST", path + "/finish")).status != 202; },
                        std::chrono::minutes(2)));
    return reply;
  }
  std::string authorization() const { return "Authorization: Bearer " + alice_ + "\r\n"; }
  /// The tester still does what it should.
  void expect_alive() { EXPECT_EQ(ask("GET", "/api/v1/health").status, 200); }
};

TEST_F(Hostile, PathsAreRefused) {
  start_tester();
  const std::string path = new_test();
  for (const char* name : {"../x", "a/../../b", "/etc/passwd", "a/./b", "a\\b", "a\nb", ""}) {
    const Reply reply =
        ask("PUT", path + "/manifest",
            manifest_of({{"plan.json", "{}"}, {"journal.jsonl", ""}, {name, "x"}}).dump());
    EXPECT_EQ(reply.status, 400) << name;
    EXPECT_EQ(reply.json["error"]["code"], "bad_path") << name;
  }
  // In addresses, in every spelling.
  for (const char* target :
       {"/../../etc/passwd", "/tests/../../../etc/passwd", "/tests/%2e%2e/%2e%2e/tester.db",
        "/tests/%2e%2e%2ftester.db", "/api/v1/tests/..%2f..%2ftester.db/result",
        "/tests/20261115-abcdef/%2e%2e%2f%2e%2e%2ftester.db", "/api/v1/tests/20261115-ab%00def",
        "/tests//report.html", "//etc/passwd"}) {
    const std::string reply =
        raw(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}\r\n", target,
                        authorization()));
    EXPECT_THAT(reply, AllOf(HasSubstr("404 Not Found"), Not(HasSubstr("root:")),
                             Not(HasSubstr("SQLite format"))))
        << target;
  }
}

TEST_F(Hostile, JsonIsRefusedWithWords) {
  start_tester();
  const std::string deep = "{\"system\": " + std::string(100'000, '[') + "}";
  for (const std::string& body :
       {deep, std::string("{\"name\": NaN}"), std::string("{\"system\": {\"x\": 1e99999}}"),
        std::string("{\"name\": \"\xff\xfe\"}"), std::string("[1]"), std::string("{\"name\": 7}"),
        std::string("{\"name\": \"a\\u0000b\"}"), std::string("{\"ais\": {\"Other\": \"x\"}}"),
        "{\"name\": \"" + std::string(300, 'x') + "\"}"}) {
    const Reply reply = ask("POST", "/api/v1/tests", body);
    EXPECT_EQ(reply.status, 400) << body.substr(0, 60);
    EXPECT_TRUE(reply.json["error"]["message"].is_string());
  }
  EXPECT_EQ(ask("POST", "/api/v1/tests", "{\"x\": \"" + std::string(300'000, 'x') + "\"}").status,
            413);
  expect_alive();
}

TEST_F(Hostile, NobodyReadsOrWritesWithoutAToken) {
  start_tester();
  for (const char* path :
       {"/tests", "/tests/20261115-abcdef", "/api/v1/tests", "/api/v1/nothing"}) {
    const Reply reply = ask("GET", path, "", {}, "");
    EXPECT_EQ(reply.status, 401) << path;
    EXPECT_NE(reply.response.header("www-authenticate"), "");
  }
  EXPECT_EQ(ask("POST", "/api/v1/tests", "{}", {}, "").status, 401);
  EXPECT_EQ(ask("GET", "/api/v1/health", "", {}, "").status, 200);
  // A browser's way, which is for reading only: alice's token as the password.
  const CommandResult encoded =
      run_command({"/bin/sh", "-c", "printf 'me:%s' " + alice_ + " | base64 -w0"});
  const http::Headers basic{{"Authorization", "Basic " + encoded.out}};
  EXPECT_EQ(ask("GET", "/tests", "", basic, "").status, 200);
  EXPECT_EQ(ask("POST", "/api/v1/tests", "{}", basic, "").status, 401);
}

TEST_F(Hostile, PublicReadingIsReadingOnly) {
  start_tester({"--public-read"});
  EXPECT_EQ(ask("GET", "/tests", "", {}, "").status, 200);
  EXPECT_EQ(ask("GET", "/api/v1/tests", "", {}, "").status, 200);
  EXPECT_EQ(ask("POST", "/api/v1/tests", "{}", {}, "").status, 401);
}

TEST_F(Hostile, AnothersTestIsLeftAlone) {
  start_tester();
  const std::string path = new_test();
  const std::string bob = add_token("bob");
  const std::string manifest = manifest_of({{"plan.json", "{}"}, {"journal.jsonl", ""}}).dump();
  EXPECT_EQ(ask("PUT", path + "/manifest", manifest, {}, bob).status, 403);
  EXPECT_EQ(ask("PUT", path + "/files/0?offset=0", "{}", {}, bob).status, 403);
  EXPECT_EQ(ask("POST", path + "/finish", "", {}, bob).status, 403);
}

TEST_F(Hostile, TooManyRequestsAreTurnedAway) {
  start_tester({"--rate", "2"});
  int refused = 0;
  for (int i = 0; i < 30; ++i) {
    const Reply reply = ask("GET", "/api/v1/tests");
    if (reply.status != 429) continue;
    ++refused;
    EXPECT_GE(std::stoi(reply.response.header("retry-after")), 1);
  }
  EXPECT_GT(refused, 5);
}

TEST_F(Hostile, GuessingTokensIsSlowedDown) {
  start_tester();
  int refused = 0;
  for (int i = 0; i < 40; ++i)
    if (ask("GET", "/api/v1/tests", "", {}, "assay-" + std::to_string(i)).status == 429) ++refused;
  EXPECT_GT(refused, 5);
  EXPECT_EQ(ask("GET", "/api/v1/tests").status, 200) << "who has a token is not kept out";
}

TEST_F(Hostile, WhatIsTooLargeIsRefused) {
  start_tester({"--test-limit", "20M", "--quota", "25M"});
  const std::string plan(12 << 20, 'x');
  const auto with_size = [](std::uint64_t size) {
    Json json = manifest_of({{"plan.json", ""}, {"journal.jsonl", ""}});
    json["files"][0]["size"] = size;
    return json.dump();
  };
  const std::string path = new_test();
  EXPECT_EQ(ask("PUT", path + "/manifest", with_size(21 << 20)).status, 413);
  ASSERT_EQ(ask("PUT", path + "/manifest", with_size(12 << 20)).status, 200);
  const Reply part = ask("PUT", path + "/files/0?offset=0", plan.substr(0, 9 << 20));
  EXPECT_EQ(part.status, 413);
  EXPECT_THAT(part.response.body, HasSubstr("at most 8388608 bytes"));
  EXPECT_EQ(ask("PUT", path + "/files/1?offset=0", "more").status, 413);
  const Reply room = ask("PUT", new_test() + "/manifest", with_size(14 << 20));
  EXPECT_EQ(room.status, 507);
  EXPECT_EQ(room.json["error"]["code"], "no_room");
  // Far beyond: the connection is closed while it is sent.
  const std::string reply =
      raw(fmt::format("PUT {}/files/0?offset=0 HTTP/1.1\r\nHost: localhost\r\n{}Content-Length: "
                      "100000000000\r\n\r\n",
                      path, authorization()) +
          std::string(20 << 20, 'x'));
  EXPECT_THAT(reply, AllOf(Not(HasSubstr(" 200 ")), HasSubstr("[closed]")));
  expect_alive();
}

TEST_F(Hostile, APackedBombDoesNotUnpack) {
  start_tester();
  const std::string path = new_test();
  ASSERT_EQ(ask("PUT", path + "/manifest",
                manifest_of({{"plan.json", "0123456789"}, {"journal.jsonl", ""}}).dump())
                .status,
            200);
  const std::string zeros(512 << 20, '\0');
  std::string bomb(ZSTD_compressBound(zeros.size()), '\0');
  bomb.resize(ZSTD_compress(bomb.data(), bomb.size(), zeros.data(), zeros.size(), 1));
  const http::Headers packed{{"Content-Encoding", "zstd"}};
  EXPECT_EQ(ask("PUT", path + "/files/0?offset=0", bomb, packed).status, 413);
  EXPECT_EQ(ask("PUT", path + "/files/0?offset=0", "no zstd", packed).status, 400);
  EXPECT_EQ(ask("PUT", path + "/files/0?offset=0", "x", {{"Content-Encoding", "gzip"}}).status,
            415);
}

TEST_F(Hostile, TwoLengthsSmuggleNothing) {
  start_tester();
  const std::string hidden = fmt::format(
      "POST /api/v1/tests HTTP/1.1\r\nHost: localhost\r\n{}Content-Length: 2\r\n\r\n{{}}",
      authorization());
  const std::string chunked_end = "0\r\n\r\n";
  for (const std::string& lengths :
       {fmt::format("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n",
                    chunked_end.size() + hidden.size()),
        fmt::format("Transfer-Encoding: chunked\r\nContent-Length: {}\r\n", chunked_end.size()),
        std::string("Content-Length: 5\r\nContent-Length: 6\r\n"),
        std::string("Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n"),
        std::string("Transfer-Encoding: chunked, identity\r\n"),
        std::string("Content-Length: +5\r\n"), std::string("Content-Length: 5 5\r\n")}) {
    const std::string reply =
        raw(fmt::format("POST /api/v1/health HTTP/1.1\r\nHost: localhost\r\n{}\r\n", lengths) +
                chunked_end + hidden,
            std::chrono::seconds(3));
    EXPECT_THAT(reply, Not(HasSubstr("201 Created"))) << lengths;
  }
  EXPECT_EQ(ask("GET", "/api/v1/tests").json["total"], 0) << "a hidden request was carried out";
}

TEST_F(Hostile, WhatIsNoHttpGetsItsConnectionClosed) {
  start_tester();
  for (const std::string& bytes :
       {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
        std::string("\r\n\r\n\r\nx y z\r\n\r\n"), std::string("GET / HTTP/x.y\r\n\r\n"),
        "GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nX: " + std::string(100'000, 'a') + "\r\n\r\n", [] {
          std::string many = "GET / HTTP/1.1\r\n";
          for (int i = 0; i < 500; ++i) many += fmt::format("X-{}: y\r\n", i);
          return many + "\r\n";
        }()})
    EXPECT_THAT(raw(bytes), AllOf(HasSubstr("[closed]"), Not(HasSubstr("200 OK"))))
        << bytes.substr(0, 30);
  expect_alive();
}

TEST_F(Hostile, SlowAndHalfOpenClientsAreCutOff) {
  start_tester({"--read-timeout", "1s", "--connections", "20"});
  // A header line now and then, and connections that say nothing at all.
  std::vector<std::jthread> slow;
  std::atomic<int> closed = 0;
  for (int i = 0; i < 15; ++i)
    slow.emplace_back([&, i] {
      const std::string begin = i % 3 == 0 ? "" : "PUT /api/v1/tests/x/files/0 HTTP/1.1\r\nHost: ";
      if (raw(begin, std::chrono::seconds(60)).ends_with("[closed]")) ++closed;
    });
  expect_alive();
  slow.clear();
  EXPECT_EQ(closed, 15);
  expect_alive();
}

TEST_F(Hostile, ATlsHandshakeThatNeverComesIsCutOff) {
  const std::string certificate = (folder_ / "tester.crt").string();
  const std::string key = (folder_ / "tester.key").string();
  const CommandResult made = run_command(
      {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
       "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=127.0.0.1"});
  ASSERT_TRUE(made.status.ok()) << made.err;
  start_tester({"--tls-certificate", certificate, "--tls-key", key});
  EXPECT_EQ(raw("", std::chrono::seconds(60)), "[closed]");
}

TEST_F(Hostile, MoreConnectionsThanAllowedWait) {
  start_tester({"--read-timeout", "2s", "--connections", "3"});
  std::vector<std::jthread> idle;
  for (int i = 0; i < 10; ++i)
    idle.emplace_back([&] { (void)raw("GET / HTTP/1.1\r\n", std::chrono::seconds(60)); });
  expect_alive();  // when some of them were cut off
}

TEST_F(Hostile, AnUnfinishedUploadIsNotJudged) {
  start_tester();
  const std::string path = new_test();
  EXPECT_EQ(ask("POST", path + "/finish").json["error"]["code"], "no_manifest");
  ASSERT_EQ(ask("PUT", path + "/manifest",
                manifest_of({{"plan.json", "0123456789"}, {"journal.jsonl", "x"}}).dump())
                .status,
            200);
  ASSERT_EQ(ask("PUT", path + "/files/0?offset=0", "0123").json["received"], 4);
  const Reply early = ask("POST", path + "/finish");
  EXPECT_EQ(early.status, 409);
  EXPECT_THAT(early.response.body, HasSubstr("4 of 10 bytes of plan.json"));
  // It goes on.
  EXPECT_EQ(ask("PUT", path + "/files/0?offset=4", "456789").json["received"], 10);
}

TEST_F(Hostile, EvidenceThatIsNoRunIsRefused) {
  start_tester();
  for (const std::string& plan :
       {std::string("{}"), std::string("no json"), std::string("{\"cases\": 7}"),
        std::string(200'000, '['), std::string("\xff\xfe\x00", 3)}) {
    const Reply reply = judged({{"plan.json", plan}, {"journal.jsonl", "x\n"}});
    EXPECT_EQ(reply.status, 422) << plan.substr(0, 20) << reply.response.body;
    EXPECT_THAT(reply.response.body, HasSubstr("cannot be judged"));
  }
  expect_alive();
}

TEST_F(Hostile, EvidenceCannotPointAtOtherFiles) {
  const fs::path run = make_run();
  start_tester();
  Json plan = read_json(run / "plan.json");
  const std::string journal = read_file(run / "journal.jsonl");
  plan["cases"][0]["name"] = "../../20261115-abcdef/files";
  EXPECT_THAT(judged({{"plan.json", plan.dump()}, {"journal.jsonl", journal}}).response.body,
              HasSubstr("not a valid file name"));
  std::string events;
  for (
      std::string line : {std::string(
          R"({"event":"round_start","case":"null:native:cpu:1:2:2","round":1,"nodes":[{"node":0,"host":"../../../x"}]})")})
    events += line + "\n";
  EXPECT_THAT(judged({{"plan.json", read_file(run / "plan.json")}, {"journal.jsonl", events}})
                  .response.body,
              HasSubstr("not a valid file name"));
}

TEST_F(Hostile, EvidenceWithoutEndIsGivenUp) {
  const fs::path run = make_run();
  start_tester({"--judge-time", "2s", "--judge-memory", "600M"});
  Json plan = read_json(run / "plan.json");
  plan["cases"][0]["repeats"] = 2'000'000'000;
  const Reply reply =
      judged({{"plan.json", plan.dump()}, {"journal.jsonl", read_file(run / "journal.jsonl")}});
  EXPECT_EQ(reply.status, 422) << reply.response.body;
  EXPECT_THAT(reply.response.body, HasSubstr("limits"));
  expect_alive();
}

TEST_F(Hostile, EveryRequestIsInTheAuditLogWithoutToken) {
  start_tester();
  (void)ask("GET", "/api/v1/tests");
  (void)ask("GET", "/api/v1/tests", "", {}, "assay-wrong");
  std::ifstream log(data_ / "audit.jsonl");
  std::vector<Json> lines;
  for (std::string line; std::getline(log, line);) lines.push_back(Json::parse(line));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["token"], "alice");
  EXPECT_EQ(lines[0]["status"], 200);
  EXPECT_EQ(lines[0]["method"], "GET");
  EXPECT_EQ(lines[0]["path"], "/api/v1/tests");
  EXPECT_EQ(lines[0]["address"], "127.0.0.1");
  EXPECT_GT(lines[0]["bytes_out"], 10);
  EXPECT_TRUE(lines[1]["token"].is_null());
  EXPECT_EQ(lines[1]["status"], 401);
  const std::string text = read_file(data_ / "audit.jsonl");
  EXPECT_THAT(text, AllOf(Not(HasSubstr(alice_)), Not(HasSubstr("assay-wrong"))));
}

TEST_F(Hostile, ATestIsMadeOncePerKey) {
  start_tester();
  const http::Headers key{{"Idempotency-Key", "k1"}};
  const Reply first = ask("POST", "/api/v1/tests", "{}", key);
  const Reply again = ask("POST", "/api/v1/tests", "{}", key);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(first.json["test_id"], again.json["test_id"]);
  EXPECT_EQ(ask("GET", "/api/v1/tests").json["total"], 1);
}

TEST_F(Hostile, RequestsInFlightAreAnsweredAtTheEnd) {
  start_tester();
  std::vector<std::jthread> clients;
  std::atomic<int> cut = 0;
  for (int i = 0; i < 4; ++i)
    clients.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        const std::string reply = raw(fmt::format(
            "GET /api/v1/tests HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}\r\n",
            authorization()));
        // Answered, or not begun; never half.
        if (reply != "refused" && reply != "[closed]" &&
            reply.find("\"total\"") == std::string::npos &&
            reply.find("being stopped") == std::string::npos)
          ++cut;
      }
    });
  ::usleep(50'000);
  EXPECT_TRUE(tester().end().ok());
  clients.clear();
  EXPECT_EQ(cut, 0);
}

}  // namespace
}  // namespace assay::serve
