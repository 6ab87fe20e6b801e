// A server on a copy of another one's folder, which still runs.

#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/json_access.h"
#include "core/text.h"
#include "e2e/platform/platform_test.h"

namespace assay::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CopiedFolder : public PlatformTest {
 protected:
  // One job that has the whole machine, one that waits for it, and a schedule.
  void SetUp() override {
    PlatformTest::SetUp();
    running_ =
        submit({"--whole-nodes", "--command", "echo $$ > " + pid_file_ + "; exec sleep 600"});
    waiting_ = submit({"--whole-nodes", "--command", "echo ran >> " + (folder_ / "ran").string()});
    const CommandResult made = assay({"submit", "--no-code", "--name", "yearly", "--command",
                                      "true", "--schedule", "0 3 1 1 *"});
    EXPECT_EQ(made.status.code, 0) << made.err;
    ASSERT_TRUE(becomes(running_, "running"));
    ASSERT_TRUE(eventually([&] { return read_file_or_empty(pid_file_).ends_with("\n"); }));
    fs::create_directory(folder_ / "copy");
  }
  void TearDown() override {
    talk_to_original();
    EXPECT_EQ(state(running_), "running") << "the original's job is none of the copy's";
    EXPECT_EQ(::kill(std::atoi(read_file(pid_file_).c_str()), 0), 0);
    EXPECT_EQ(assay({"cancel", std::to_string(waiting_), std::to_string(running_)}).status.code, 0);
    EXPECT_TRUE(becomes(running_, "killed"));
    PlatformTest::TearDown();
  }
  void talk_to(const serve::TesterProcess& copy) {
    ::setenv("ASSAY_SERVER", copy.url().c_str(), 1);
    ::setenv("ASSAY_TOKEN", std::string(trim(read_file(data_of_copy_ / "admin.token"))).c_str(), 1);
  }
  static void talk_to_original() {
    ::unsetenv("ASSAY_SERVER");
    ::unsetenv("ASSAY_TOKEN");
  }
  void expect_held(const serve::TesterProcess& copy, const std::string& why) {
    EXPECT_THAT(copy.said(),
                AllOf(HasSubstr("this folder is a copy of " + data_.string()),
                      HasSubstr("1 job and 1 schedule are held"), HasSubstr("--resume-queue")));
    talk_to(copy);
    EXPECT_EQ(state(running_), "error");
    EXPECT_THAT(text_at(member_at(job(running_), "life"), "message"), HasSubstr(why));
    EXPECT_EQ(state(waiting_), "paused");
    EXPECT_THAT(text_at(member_at(job(waiting_), "life"), "message"), HasSubstr("held"));
    EXPECT_THAT(assay({"schedules"}).out, HasSubstr("paused"));
    talk_to_original();
  }
  // What is held in it goes on, and nothing else.
  void expect_resumed() {
    const serve::TesterProcess copy(folder_ / "copy", {"--resume-queue"});
    EXPECT_THAT(copy.said(), Not(HasSubstr("held")));
    talk_to(copy);
    EXPECT_TRUE(becomes(waiting_, "finished"));
    EXPECT_EQ(read_file(folder_ / "ran"), "ran\n");
    EXPECT_EQ(state(running_), "error");
    EXPECT_THAT(assay({"schedules"}).out, Not(HasSubstr("paused")));
    talk_to_original();
  }

  long running_ = 0;
  long waiting_ = 0;
  const std::string pid_file_ = (folder_ / "pid").string();
  const fs::path data_ = folder_ / "tester";
  const fs::path data_of_copy_ = folder_ / "copy" / "tester";
};

TEST_F(CopiedFolder, ARestoredOneLeavesTheOriginalsJobsAloneAndHoldsTheOthers) {
  const std::string backup = (folder_ / "backup").string();
  const CommandResult made = assay({"serve", "backup", backup, "--data", data_.string()});
  ASSERT_EQ(made.status.code, 0) << made.err;
  const CommandResult restored =
      assay({"serve", "restore", backup, "--data", data_of_copy_.string()});
  ASSERT_EQ(restored.status.code, 0) << restored.err;
  {
    const serve::TesterProcess copy(folder_ / "copy", {});
    expect_held(copy, "was running when the backup was made");
  }
  {
    const serve::TesterProcess again(folder_ / "copy", {});
    EXPECT_THAT(again.said(), AllOf(HasSubstr("1 job and 1 schedule are held"),
                                    Not(HasSubstr("this folder is a copy"))));
  }
  expect_resumed();
}

TEST_F(CopiedFolder, ACopyByHandDoesSoToo) {
  fs::copy(data_, data_of_copy_, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  {
    const serve::TesterProcess copy(folder_ / "copy", {});
    expect_held(copy, "was running when the folder was copied");
  }
  expect_resumed();
}

TEST_F(CopiedFolder, WhoSaysSoAtTheRestoreHasTheQueueGoOn) {
  const std::string backup = (folder_ / "backup").string();
  ASSERT_EQ(assay({"serve", "backup", backup, "--data", data_.string()}).status.code, 0);
  ASSERT_EQ(assay({"serve", "restore", backup, "--resume-queue", "--data", data_of_copy_.string()})
                .status.code,
            0);
  const serve::TesterProcess copy(folder_ / "copy", {});
  EXPECT_THAT(copy.said(), Not(HasSubstr("held")));
  talk_to(copy);
  EXPECT_EQ(state(running_), "error");
  EXPECT_TRUE(becomes(waiting_, "finished"));
}

}  // namespace
}  // namespace assay::e2e
