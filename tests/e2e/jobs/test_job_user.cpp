// Jobs as a user of their own: the server is root, and its folder is closed to what it runs.

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "core/json_access.h"
#include "core/process.h"
#include "e2e/door/door_test.h"
#include "needs.h"

namespace assay::e2e {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kUser = 61234;

class JobUser : public DoorTest {
 protected:
  void SetUp() override {
    DoorTest::SetUp();
    if (::geteuid() != 0) GTEST_SKIP() << needs::root("to run jobs as other users");
    // A user that only the server's mounts know.
    const fs::path home = folder_ / "people/worker";
    fs::create_directories(home);
    fs::permissions(folder_, fs::perms::owner_all | fs::perms::others_exec);
    ASSERT_EQ(::chown(home.c_str(), kUser, kUser), 0);
    std::ofstream(folder_ / "passwd") << read_file("/etc/passwd") << "worker:x:" << kUser << ':'
                                      << kUser << "::" << home.string() << ":/bin/sh\n";
    const CommandResult mounts = run_command(
        {"unshare", "--mount", "mount", "--bind", (folder_ / "passwd").string(), "/etc/passwd"});
    if (!mounts.ok()) GTEST_SKIP() << needs::root("to mount something");
  }

  /// The server below mounts of its own.
  void serve_as(const std::string& job_user) {
    const fs::path program = write(
        "serve.sh", fmt::format("#!/bin/sh\nmount --bind {0}/passwd /etc/passwd && exec {1}/assay "
                                "serve --listen 127.0.0.1:0 --data {0}/tester --job-user '{2}'\n",
                                folder_.string(), ASSAY_BIN_DIR, job_user));
    fs::permissions(program, fs::perms::owner_all);
    log_ = folder_ / "serve.log";
    server_ = spawn({.argv = {"unshare", "--mount", program.string()},
                     .out = Stream::overwrite(log_, 0644),
                     .err = Stream::output()});
    ASSERT_TRUE(eventually([&] { return assay({"nodes"}).status.code == 0; }, 60s))
        << read_file_or_empty(log_);
  }
  void TearDown() override {
    const Json listed = parse_json_or_null(assay({"jobs", "--format", "json"}).out);
    for (const Json& job : list_at(listed, "jobs"))
      (void)assay({"cancel", std::to_string(integer_at(job, "id", 0))});
    (void)eventually([&] { return processes_with("job-controller " + folder_.string()).empty(); },
                     60s);
    if (server_.running()) server_.signal(SIGTERM);
    (void)server_.wait_for(20s);
    DoorTest::TearDown();
  }
  [[nodiscard]] CommandResult run(const std::string& command) const {
    return assay(
        {"submit", "--code", (folder_ / "code").string(), "--follow", "--command", command}, 150s);
  }

  fs::path log_;
  Child server_;
};

TEST_F(JobUser, RunsJobsThatCannotReadTheServersFolder) {
  fs::create_directories(folder_ / "code");
  write("code/data.txt", "sent along\n");
  serve_as("worker");
  const CommandResult result =
      run("id -u; echo home $HOME user $USER; cat data.txt; ls " + (folder_ / "tester").string() +
          " 2>&1; cat " + (folder_ / "tester/admin.token").string() +
          " 2>&1; echo secrets $ASSAY_TOKEN $ASSAY_AS_USER; touch made.txt && echo writable");
  const std::string log = assay({"job", "1", "--logs"}).out;
  EXPECT_THAT(log, AllOf(HasSubstr("61234\n"), HasSubstr("user worker\n"), HasSubstr("sent along"),
                         HasSubstr("Permission denied"), HasSubstr("writable")))
      << result.out << result.err << read_file_or_empty(log_);
  EXPECT_THAT(log,
              Not(HasSubstr(std::string(read_file(folder_ / "tester/admin.token")).substr(0, 12))));
  EXPECT_EQ(state(1), "finished");
}

TEST_F(JobUser, IsWhoEntersAJob) {
  serve_as("worker");
  const CommandResult made =
      assay({"submit", "--no-code", "--format", "json", "--command", "exec sleep 1000"});
  ASSERT_EQ(made.status.code, 0) << made.err;
  ASSERT_TRUE(eventually(
      [&] {
        return assay({"ssh", "-T", "1", "--", "true"}).status.code == 0;
      },
      120s))
      << assay({"job", "1"}).out << assay({"job", "1", "--logs"}).out;
  EXPECT_EQ(assay({"ssh", "-T", "1", "--", "id -u"}).out, "61234\n");
}

TEST_F(JobUser, OfAnAccountWithoutOneRunsNothing) {
  fs::create_directories(folder_ / "code");
  write("code/data.txt", "x\n");
  serve_as("{owner}");
  const CommandResult result = run("id -u");  // of the account 'admin'
  EXPECT_NE(result.status.code, 0);
  EXPECT_THAT(result.out + result.err + assay({"job", "1"}).out, HasSubstr("no such user"));
}

TEST_F(JobUser, RunsNoHookBesideTheServer) {
  serve_as("worker");
  write("suite.yaml",
        "name: s\nhooks: [{name: sly, when: before, command: [touch, /tmp/assay-sly]}]\n"
        "cases: [{name: a, command: [/bin/true]}]\n");
  const CommandResult result = assay({"submit", (folder_ / "suite.yaml").string(), "--no-code"});
  EXPECT_EQ(result.status.code, 2) << result.out << result.err;
  EXPECT_FALSE(fs::exists("/tmp/assay-sly"));
}

TEST_F(JobUser, IsNotRootNorSomebodyUnknown) {
  for (const char* user : {"root", "nobody-knows-them"}) {
    const CommandResult result = run_command({ASSAY_BIN_DIR "/assay", "serve", "--data",
                                              (folder_ / "tester").string(), "--job-user", user},
                                             {.timeout = 30s, .env = {}});
    EXPECT_EQ(result.status.code, 2) << result.out << result.err;
  }
}

}  // namespace
}  // namespace assay::e2e
