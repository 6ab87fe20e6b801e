#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/tester/tester_process.h"

namespace assay::serve {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FirstStart : public TesterTest {
 protected:
  [[nodiscard]] std::string admin_token() const {
    return std::string(trim(read_file(data_ / "admin.token")));
  }
  static mode_t mode_of(const fs::path& file) {
    struct stat found {};
    ::stat(file.c_str(), &found);
    return found.st_mode & 0777;
  }
  std::string link() {
    const CommandResult made = assay({"serve", "link", "--data", data_.string()});
    EXPECT_TRUE(made.status.ok()) << made.err;
    return std::string(trim(made.out));
  }
};

TEST_F(FirstStart, NeedsNothingToBeConfigured) {
  start_tester();
  EXPECT_EQ(ask("GET", "/api/v1/session", "", {}, admin_token()).json["role"], "admin");
  EXPECT_EQ(mode_of(data_ / "admin.token"), 0600U);
  EXPECT_EQ(mode_of(data_ / "server.json"), 0600U);
  EXPECT_EQ(mode_of(data_ / "accounts.db"), 0600U);
  EXPECT_EQ(read_json(data_ / "server.json")["url"], tester().url());
  const Json nodes = ask("GET", "/api/v1/nodes", "", {}, admin_token()).json;
  EXPECT_EQ(nodes["nodes"].size(), 1U) << "this machine is its cluster";
}

TEST_F(FirstStart, ALinkSignsInOnce) {
  start_tester();
  const std::string address = link();
  EXPECT_THAT(address, StartsWith(tester().url() + "/#/sign-in?link="));
  const std::string body = dump_line({{"link", address.substr(address.find("link=") + 5)}});
  const http::Headers json{{"Content-Type", "application/json"}};
  const Reply first = ask("POST", "/api/v1/session", body, json, "");
  ASSERT_EQ(first.status, 200) << first.response.body;
  EXPECT_EQ(first.json["user"], "admin");
  EXPECT_EQ(first.json["password_set"], false);
  EXPECT_THAT(first.response.header("set-cookie"), HasSubstr("HttpOnly"));
  EXPECT_EQ(ask("POST", "/api/v1/session", body, json, "").status, 401);
}

TEST_F(FirstStart, ARestartKeepsWhatThereIs) {
  start_tester();
  const std::string token = admin_token();
  EXPECT_TRUE(tester().end().ok());
  EXPECT_FALSE(fs::exists(data_ / "server.json")) << "nobody is there any more";
  start_tester();
  EXPECT_EQ(admin_token(), token);
  EXPECT_EQ(ask("GET", "/api/v1/session", "", {}, token).status, 200);
}

TEST_F(FirstStart, UsersAreMadeAndDisabledBesideTheServer) {
  start_tester();
  const std::string data = data_.string();
  EXPECT_TRUE(assay({"serve", "user", "add", "ann", "--data", data}).status.ok());
  EXPECT_FALSE(assay({"serve", "user", "add", "ann", "--data", data}).status.ok());
  EXPECT_FALSE(assay({"serve", "user", "add", "../x", "--data", data}).status.ok());
  EXPECT_THAT(assay({"serve", "user", "list", "--data", data}).out, HasSubstr("ann  member"));
  const CommandResult made = assay({"serve", "link", "--user", "ann", "--data", data});
  const std::string secret = std::string(trim(made.out.substr(made.out.find("link=") + 5)));
  EXPECT_TRUE(assay({"serve", "user", "disable", "ann", "--data", data}).status.ok());
  EXPECT_EQ(ask("POST", "/api/v1/session", dump_line({{"link", secret}}),
                {{"Content-Type", "application/json"}}, "")
                .status,
            401);
  EXPECT_FALSE(assay({"serve", "user", "disable", "admin", "--data", data}).status.ok())
      << "the last administrator";
}

TEST_F(FirstStart, ABackupBringsTheAccountsBack) {
  start_tester();
  const std::string token = admin_token();
  const std::string copy = (folder_ / "copy").string();
  EXPECT_TRUE(assay({"serve", "backup", copy, "--data", data_.string()}).status.ok());
  const std::string restored = (folder_ / "restored").string();
  const CommandResult back = assay({"serve", "restore", copy, "--data", restored});
  ASSERT_TRUE(back.status.ok()) << back.err;
  EXPECT_THAT(assay({"serve", "user", "list", "--data", restored}).out, HasSubstr("admin  admin"));
  EXPECT_FALSE(fs::exists(folder_ / "restored" / "admin.token")) << "a secret of that server";
}

TEST_F(FirstStart, WithoutJobsItIsTheTesterAlone) {
  start_tester({"--no-jobs"});
  EXPECT_EQ(ask("GET", "/api/v1/jobs").status, 404);
  EXPECT_EQ(ask("GET", "/api/v1/tests").status, 200);
  EXPECT_FALSE(fs::exists(data_ / "accounts.db"));
  EXPECT_FALSE(fs::exists(data_ / "admin.token"));
}

}  // namespace
}  // namespace assay::serve
