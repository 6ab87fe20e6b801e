#include <fstream>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "core/files.h"
#include "e2e/tester/tester_process.h"
#include "needs.h"

namespace assay::serve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A tester under load, and in the hands of its operator.
class Operation : public TesterTest {
 protected:
  // A connection that says nothing, from an address of this machine.
  UniqueFd connect_from(const char* address) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in from{};
    from.sin_family = AF_INET;
    ::inet_pton(AF_INET, address, &from.sin_addr);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from), 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(tester().port()));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    return fd;
  }
  std::string head(const std::string& request) {
    return raw(request + "Connection: close\r\n\r\n");
  }
  CommandResult serve(std::vector<std::string> words) {
    words.insert(words.begin(), "serve");
    words.insert(words.end(), {"--data", data_.string()});
    return assay(words);
  }
  std::string push_anew(const fs::path& run) {
    fs::remove(run / "push.json");
    const CommandResult pushed = push(run);
    const auto at = pushed.out.find("Test: ");
    EXPECT_NE(at, std::string::npos) << pushed.out << pushed.err;
    return at == std::string::npos ? "" : pushed.out.substr(at + 6, 15);
  }
};

// Else the fault would be the tester's, or the evidence's, which is then removed.
TEST_F(Operation, AJudgeThatFindsTheDiskFullSaysSo) {
  const fs::path run = make_run();
  const fs::path disk = folder_ / "disk";
  fs::create_directory(disk);
  if (::mount("assay-test", disk.c_str(), "tmpfs", 0, "size=8m") != 0)
    GTEST_SKIP() << needs::root("to mount a tmpfs");
  fs::copy(run, disk / "run", fs::copy_options::recursive);
  for (const char* derived : {"result.json", "report.html"}) fs::remove(disk / "run" / derived);
  std::ofstream filler(disk / "filler", std::ios::binary);
  const std::string block(4096, 'x');
  while (filler.write(block.data(), 4096).flush()) {
  }
  const CommandResult judged = assay({"judge-evidence", (disk / "run").string()});
  ::umount2(disk.c_str(), MNT_DETACH);
  EXPECT_EQ(judged.status.code, 13) << judged.err;  // kDiskFullExit
  EXPECT_THAT(judged.err, HasSubstr("No space left on device"));
}

TEST_F(Operation, IdleConnectionsLockNobodyOut) {
  start_tester();
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(connect_from("127.0.0.2"));
  // The same machine, and another.
  for (const char* who : {"127.0.0.2", "127.0.0.1"}) {
    UniqueFd fd = connect_from(who);
    const std::string request =
        "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    ASSERT_EQ(::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    timeval limit{10, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    std::string reply(4096, '\0');
    const ssize_t n = ::recv(fd.get(), reply.data(), reply.size(), 0);
    ASSERT_GT(n, 0) << who;
    EXPECT_THAT(reply, HasSubstr("200 OK")) << who;
  }
  EXPECT_EQ(ask("GET", "/api/v1/health").status, 200);
}

TEST_F(Operation, HttpIsTakenToTheLetter) {
  start_tester();
  EXPECT_THAT(head("GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n"), HasSubstr("200 OK"));
  for (const char* bad : {"GET /api/v1/health HTTP/1.1\r\nHost : x\r\n",
                          "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nX: a\r\n folded\r\n",
                          "GET /api/v1/health HTTP/1.1\r\n",
                          "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nHost: y\r\n"})
    EXPECT_THAT(head(bad), AllOf(HasSubstr("400 Bad Request"), HasSubstr("bad_request"),
                                 Not(HasSubstr("200 OK")), HasSubstr("[closed]")))
        << bad;
  EXPECT_THAT(head("GET /api/v1/health HTTP/9.9\r\nHost: localhost\r\n"),
              AllOf(Not(HasSubstr("200 OK")), HasSubstr("[closed]")));
}

TEST_F(Operation, HeadIsAnsweredAndAWrongMethodNamesTheRightOnes) {
  start_tester();
  const std::string token = "Authorization: Bearer " + alice_ + "\r\n";
  const std::string reply = head("HEAD /leaderboard HTTP/1.1\r\nHost: localhost\r\n" + token);
  EXPECT_THAT(reply, AllOf(HasSubstr("200 OK"), HasSubstr("Content-Length: "),
                           Not(HasSubstr("Content-Length: 0\r\n")), Not(HasSubstr("<html"))));
  const Reply wrong = ask("DELETE", "/api/v1/tests");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.response.header("allow"), "GET, HEAD, POST");
}

TEST_F(Operation, TheSameRunPushedTwiceAtOnceIsOneTest) {
  const fs::path run = make_run();
  const fs::path copy = folder_ / "copy";
  fs::copy(run, copy, fs::copy_options::recursive);
  start_tester();
  CommandResult second;
  CommandResult first;
  {
    std::jthread other([&] { second = push(copy); });
    first = push(run);
  }
  EXPECT_THAT(first.out, HasSubstr("Accepted")) << first.err;
  EXPECT_THAT(second.out, HasSubstr("Accepted")) << second.err;
  EXPECT_EQ(ask("GET", "/api/v1/tests").json["total"], 1);
}

TEST_F(Operation, ALostDatabaseLosesNoTest) {
  const fs::path run = make_run();
  start_tester();
  const std::string id = push_anew(run);
  const Json before = ask("GET", "/api/v1/tests/" + id).json;
  const Json board = ask("GET", "/api/v1/leaderboard").json;
  kill_tester();
  for (const char* end : {"", "-wal", "-shm"}) fs::remove(data_ / ("tester.db" + std::string(end)));
  start_tester();
  alice_ = std::string(serve({"token", "rotate", "alice"}).out);
  alice_.pop_back();
  EXPECT_EQ(ask("GET", "/api/v1/tests/" + id).json, before);
  EXPECT_EQ(ask("GET", "/api/v1/leaderboard").json, board);
  EXPECT_EQ(ask("GET", "/api/v1/tests/" + id + "/result").status, 200);
}

TEST_F(Operation, ABrokenDatabaseHasAWayOut) {
  const fs::path run = make_run();
  start_tester();
  const std::string id = push_anew(run);
  kill_tester();
  write_file_atomic(data_ / "tester.db", "this is no database");
  fs::remove(data_ / "tester.db-wal");
  const CommandResult broken = serve({"--listen", "127.0.0.1:0"});
  EXPECT_EQ(broken.status.code, 3) << broken.out << broken.err;
  EXPECT_THAT(broken.err, HasSubstr("assay serve rebuild"));
  EXPECT_EQ(serve({"verify"}).status.code, 3);
  const CommandResult made = serve({"rebuild"});
  EXPECT_EQ(made.status.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("1 test found"));
  EXPECT_EQ(serve({"verify", "--deep"}).status.code, 0);
  EXPECT_THAT(serve({"list"}).out, HasSubstr(id));
}

TEST_F(Operation, TestsAreListedExportedReservedAndDeleted) {
  const fs::path run = make_run();
  start_tester();
  const std::string id = push_anew(run);
  EXPECT_EQ(Json::parse(serve({"list", "--format", "json"}).out)[0]["test_id"], id);
  const fs::path out = folder_ / "out";
  EXPECT_EQ(serve({"export", id, "--out", out.string()}).status.code, 0);
  EXPECT_EQ(read_file(out / "plan.json"), read_file(run / "plan.json"));
  EXPECT_EQ(read_file(out / "result.json"), read_file(run / "result.json"));
  EXPECT_EQ(serve({"backup", (folder_ / "backup").string()}).status.code, 0);
  EXPECT_EQ(serve({"rotate"}).status.code, 0);
  EXPECT_TRUE(fs::exists(data_ / "audit.jsonl.1"));
  EXPECT_EQ(serve({"delete", id}).status.code, 0);
  EXPECT_EQ(serve({"delete", id}).status.code, 2);
  EXPECT_EQ(ask("GET", "/api/v1/tests/" + id).status, 404);
  EXPECT_TRUE(fs::exists(data_ / "audit.jsonl")) << "a new one with the next request";

  const std::string bob = add_token("bob");
  std::string reserved = serve({"reserve", "bob", "--name", "for bob"}).out;
  reserved.pop_back();
  fs::remove(run / "push.json");
  EXPECT_EQ(push(run, {"--test", reserved}).status.code, 3) << "it is bob's";
  alice_ = bob;
  fs::remove(run / "push.json");
  EXPECT_THAT(push(run, {"--test", reserved}).out, HasSubstr("Test: " + reserved));
}

TEST_F(Operation, TheListHasNumberMachineSortAndSearch) {
  const fs::path run = make_run();
  start_tester();
  const std::string id = push_anew(run);
  (void)ask("POST", "/api/v1/tests", "{\"name\": \"zebra\"}");
  const Json list = ask("GET", "/api/v1/tests?sort=name&order=down").json;
  ASSERT_EQ(list["total"], 2);
  EXPECT_EQ(list["tests"][0]["name"], "zebra");
  const Json found = ask("GET", "/api/v1/tests?text=" + id).json;
  ASSERT_EQ(found["total"], 1);
  EXPECT_EQ(found["tests"][0]["number"], 1);
  EXPECT_THAT(found["tests"][0]["machine"].get<std::string>(), Not(HasSubstr("<")));
  EXPECT_EQ(ask("GET", "/api/v1/tests?sort=luck").status, 400);
  EXPECT_THAT(ask("GET", "/tests?text=zebra&sort=name").response.body,
              AllOf(HasSubstr("value=\"zebra\""), HasSubstr("aria-sort=")));
}

}  // namespace
}  // namespace assay::serve
