#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include "accounts/accounts.h"
#include "core/files.h"
#include "core/text.h"
#include "core/time.h"
#include "database/database.h"
#include "e2e/tester/tester_process.h"
#include "eventually.h"

namespace assay::serve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class PlatformServer : public TesterTest {
 protected:
  void SetUp() override {
    TesterTest::SetUp();
    start_tester();
    admin_ = std::string(trim(read_file(data_ / "admin.token")));
  }
  Reply as_admin(const std::string& method, const std::string& path, const Json& body = {}) {
    http::Headers headers;
    if (!body.is_null()) headers.emplace_back("Content-Type", "application/json");
    return ask(method, path, body.is_null() ? std::string() : dump_line(body), headers, admin_);
  }
  // Sends a request on a new connection, and reads until the text comes.
  UniqueFd open(const std::string& request, const std::string& until) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(tester().port()));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    EXPECT_GT(::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL), 0);
    EXPECT_THAT(heard(fd.get(), until), HasSubstr(until));
    return fd;
  }
  static std::string heard(int fd, const std::string& until, int limit_ms = 30'000) {
    std::string out;
    char buffer[4096];
    pollfd wait{fd, POLLIN, 0};
    while (out.find(until) == std::string::npos && ::poll(&wait, 1, limit_ms) > 0) {
      const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      out.append(buffer, static_cast<std::size_t>(n));
    }
    return out;
  }
  [[nodiscard]] std::string events_request() const { return events_request(admin_); }
  [[nodiscard]] static std::string events_request(const std::string& token) {
    return fmt::format(
        "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        token);
  }
  /// Tokens of people who may see every job.
  std::vector<std::string> tokens_of_people(int count) {
    accounts::Accounts people(data_ / "accounts.db");
    std::vector<std::string> tokens;
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("listener{}", i);
      people.put({.name = name, .role = jobs::Role::admin}, wall_now_ns());
      tokens.push_back(people.make_token(name, "test", 0, wall_now_ns()));
    }
    return tokens;
  }

  std::string admin_;
};

TEST_F(PlatformServer, RunsAJobToItsEndAndSaysSoOnTheWay) {
  const UniqueFd events = open(events_request(), "retry: 2000");
  const Reply made =
      as_admin("POST", "/api/v1/jobs", {{"name", "short"}, {"command", "echo hello"}});
  ASSERT_EQ(made.status, 201) << made.response.body;
  EXPECT_THAT(heard(events.get(), "\"event\":\"submitted\""), HasSubstr("event: job"));
  const std::string path = fmt::format("/api/v1/jobs/{}", made.json["jobs"][0]["id"].get<int>());
  std::string state;
  EXPECT_TRUE(testing::eventually(
      [&] {
        state = as_admin("GET", path).json["state"];
        return state == "finished" || state == "failed" || state == "error";
      },
      std::chrono::seconds(120)));
  EXPECT_EQ(state, "finished") << as_admin("GET", path).response.body;
  EXPECT_EQ(as_admin("GET", path + "/result").status, 200);
  EXPECT_EQ(as_admin("GET", path + "/report").status, 200);
}

TEST_F(PlatformServer, FiveHundredListenersLeaveRoomForRequests) {
  // No person gets more than 32 streams.
  const std::vector<std::string> tokens = tokens_of_people(20);
  std::vector<UniqueFd> listeners;
  for (const std::string& token : tokens)
    for (int i = 0; i < 25; ++i) listeners.push_back(open(events_request(token), "retry: 2000"));
  EXPECT_EQ(as_admin("GET", "/api/v1/jobs").status, 200);
  ASSERT_EQ(as_admin("POST", "/api/v1/jobs", {{"name", "x"}, {"command", "true"}}).status, 201);
  for (const UniqueFd& one : listeners)
    ASSERT_THAT(heard(one.get(), "event: job"), HasSubstr("event: job"));
}

TEST_F(PlatformServer, SaysAtOnceThatAnotherProgramHoldsItsRecords) {
  const auto submit = [&] {
    return as_admin("POST", "/api/v1/jobs", {{"name", "x"}, {"command", "true"}});
  };
  {
    database::Database other(data_ / "jobs.db");
    const database::Transaction held(other);
    for (int i = 0; i < 3; ++i) {
      const auto begun = std::chrono::steady_clock::now();
      const Reply refused = submit();
      EXPECT_EQ(refused.status, 503) << refused.response.body;
      EXPECT_EQ(refused.response.header("retry-after"), "5");
      // It waits for 1.5 s, and a machine may be busy.
      EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(8));
    }
    EXPECT_EQ(as_admin("GET", "/api/v1/jobs").status, 200) << "who reads waits for nobody";
  }
  EXPECT_EQ(submit().status, 201);
}

TEST_F(PlatformServer, SaysThatItsAccountsAreGoneInsteadOfMakingOneThatNobodyKeeps) {
  const Json ann = {{"role", "member"}};
  EXPECT_EQ(as_admin("PUT", "/api/v1/users/ann", ann).status, 201);
  fs::rename(data_ / "accounts.db", data_ / "away.db");
  const Reply refused = as_admin("PUT", "/api/v1/users/bob", ann);
  EXPECT_EQ(refused.status, 503) << refused.response.body;
  EXPECT_EQ(refused.response.header("retry-after"), "60");
  fs::rename(data_ / "away.db", data_ / "accounts.db");
  EXPECT_EQ(as_admin("PUT", "/api/v1/users/bob", ann).status, 201);
}

TEST_F(PlatformServer, DoesNotBeginAnewWithoutItsDatabases) {
  EXPECT_TRUE(tester().end().ok());
  for (const char* name : {"jobs.db", "accounts.db"}) {
    const fs::path file = data_ / name;
    fs::rename(file, data_ / "away.db");
    for (const bool empty : {false, true}) {
      if (empty) write_file_atomic(file, "");
      const CommandResult begun =
          assay({"serve", "--listen", "127.0.0.1:0", "--data", data_.string()});
      EXPECT_EQ(begun.status.code, 3) << begun.out;
      EXPECT_THAT(begun.err, AllOf(HasSubstr(file.string()), HasSubstr("assay serve restore"),
                                   HasSubstr(empty ? "empty" : "missing")));
      EXPECT_EQ(assay({"serve", "verify", "--data", data_.string()}).status.code, 3);
    }
    fs::rename(data_ / "away.db", file);
  }
  EXPECT_EQ(assay({"serve", "verify", "--data", data_.string()}).status.code, 0);
}

TEST_F(PlatformServer, RefusesWebhooksThatNobodyCouldTrustOrReach) {
  EXPECT_TRUE(tester().end().ok());
  const std::string secret = write("secret", "s\n").string();
  const std::string empty = write("empty", "\n").string();
  const auto begun = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"serve", "--listen", "127.0.0.1:0", "--data", data_.string()});
    const CommandResult result = assay(std::move(more));
    EXPECT_EQ(result.status.code, 2) << result.out;
    return result.err;
  };
  EXPECT_THAT(begun({"--webhook-secret", secret}), HasSubstr("--webhook-secret needs --webhook"));
  EXPECT_THAT(begun({"--webhook-secret", empty, "--webhook", "http://localhost:1/"}),
              HasSubstr("the secret is empty"));
  for (const char* url : {"http://localhost:0/", "http://localhost:99999/"})
    EXPECT_THAT(begun({"--webhook-secret", secret, "--webhook", url}), HasSubstr("port"));
}

TEST_F(PlatformServer, RefusesWhatComesFromElsewhere) {
  EXPECT_THAT(raw("GET /api/openapi.json HTTP/1.1\r\nHost: evil.example\r\nConnection: "
                  "close\r\n\r\n"),
              HasSubstr("421 Misdirected"));
  EXPECT_THAT(raw("GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\nConnection: "
                  "close\r\n\r\n"),
              HasSubstr("200 OK"));
  EXPECT_THAT(
      raw(fmt::format("POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nOrigin: "
                      "http://evil.example\r\nAuthorization: Bearer {}\r\nContent-Type: "
                      "application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}",
                      admin_)),
      HasSubstr("403 Forbidden"));
}

TEST_F(PlatformServer, HugeBodiesAreRefusedOrCutOff) {
  const std::string head = fmt::format(
      "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: "
      "application/json\r\nConnection: close\r\n",
      admin_);
  EXPECT_THAT(raw(head + "Content-Length: 2000000\r\n\r\n" + std::string(2'000'000, ' ')),
              HasSubstr("413 "));
  EXPECT_THAT(raw(head + "Content-Length: 99999999999\r\n\r\n"),
              AnyOf(HasSubstr("413 "), ::testing::StrEq("[closed]")));
}

TEST_F(PlatformServer, AHostThatIsNotOursIsRefusedEverywhere) {
  for (const char* path : {"/", "/tests", "/leaderboard", "/api/v1/health", "/api/v1/tests",
                           "/metrics", "/api/v1/nothing", "/nothing"})
    EXPECT_THAT(raw(fmt::format("GET {} HTTP/1.1\r\nHost: evil.example\r\nConnection: "
                                "close\r\n\r\n",
                                path)),
                HasSubstr("421 Misdirected"))
        << path;
}

TEST_F(PlatformServer, APersonsTokenIsNotTakenForAWrongOneOfTheTester) {
  EXPECT_EQ(as_admin("GET", "/api/v1/jobs/1/xyz").status, 404);
  EXPECT_EQ(as_admin("GET", "/api/v1/health").status, 200);
  const Reply tests = as_admin("GET", "/api/v1/tests");
  EXPECT_EQ(tests.status, 403);
  EXPECT_THAT(tests.response.body, HasSubstr("a token of the tester"));
}

// The page of results leads to them.
TEST_F(PlatformServer, WhoIsSignedInReadsThePagesOfTestsWithoutAToken) {
  const auto made = assay({"serve", "link", "--data", data_.string()});
  ASSERT_EQ(made.status.code, 0) << made.err;
  const std::string link(trim(made.out.substr(made.out.find("link=") + 5)));
  const auto page = [&](const std::string& path, const std::string& cookie) {
    return raw(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}Connection: close\r\n\r\n",
                           path, cookie.empty() ? "" : "Cookie: " + cookie + "\r\n"));
  };
  const std::string body = dump_line(Json{{"link", link}});
  const std::string session =
      raw(fmt::format("POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                      "application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                      body.size(), body));
  const std::size_t at = session.find("assay_session=");
  ASSERT_NE(at, std::string::npos) << session;
  const std::string cookie = session.substr(at, session.find(';', at) - at);
  for (const char* path : {"/tests", "/leaderboard"}) {
    EXPECT_THAT(page(path, cookie), HasSubstr("200 OK")) << path;
    EXPECT_THAT(page(path, ""), HasSubstr("401 ")) << path;
    EXPECT_THAT(page(path, "assay_session=made-up"), HasSubstr("401 ")) << path;
  }
  // Its interface has tokens of its own.
  EXPECT_THAT(page("/api/v1/tests", cookie), HasSubstr("401 "));
}

TEST_F(PlatformServer, ABackupIsRestoredWithItsJobs) {
  const Reply made = as_admin("POST", "/api/v1/jobs", {{"name", "a"}, {"command", "true"}});
  ASSERT_EQ(made.status, 201) << made.response.body;
  ASSERT_TRUE(testing::eventually(
      [&] { return as_admin("GET", "/api/v1/jobs/1").json["state"] == "finished"; },
      std::chrono::seconds(120)));
  const auto copied =
      assay({"serve", "backup", (folder_ / "copy").string(), "--data", data_.string()});
  ASSERT_EQ(copied.status.code, 0) << copied.err;
  const auto restored = assay(
      {"serve", "restore", (folder_ / "copy").string(), "--data", (folder_ / "again").string()});
  ASSERT_EQ(restored.status.code, 0) << restored.err;
  int results = 0;
  for (const auto& entry : fs::recursive_directory_iterator(data_ / "jobs/1"))
    if (entry.path().filename() == "result.json") {
      ++results;
      EXPECT_EQ(read_file(folder_ / "again" / fs::relative(entry.path(), data_)),
                read_file(entry.path()));
    }
  EXPECT_GT(results, 0);
}

TEST_F(PlatformServer, TheTesterIsStillThere) {
  EXPECT_EQ(ask("GET", "/api/v1/health").status, 200);
  EXPECT_EQ(ask("GET", "/api/v1/tests").status, 200);
  EXPECT_EQ(ask("GET", "/api/v1/jobs").status, 401) << "a token of the tester is none of a person";
}

}  // namespace
}  // namespace assay::serve
