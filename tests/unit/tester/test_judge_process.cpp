#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "temporary_folder.h"
#include "tester/judge_process.h"

namespace assay::tester {
namespace {

using ::testing::HasSubstr;

class JudgeProcess : public ::testing::Test {
 protected:
  /// What becomes of a judge that is this script.
  JudgeOutcome judged_by(const std::string& script, std::stop_token stop = {}) {
    const JudgeOptions options{.command = {"/bin/sh", "-c", script, "judge"},
                               .time = std::chrono::seconds(60),
                               .memory = std::uint64_t{2} << 30};
    return run_judge(options, folder_.path(), folder_.path() / "judge.log", stop);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(JudgeProcess, SaysHowItEndedByTheExitStatusAlone) {
  EXPECT_EQ(judged_by("exit 0").end, JudgeEnd::judged);

  const JudgeOutcome unfit = judged_by("echo assay: error: not a run >&2; exit 2");
  EXPECT_EQ(unfit.end, JudgeEnd::unfit);
  EXPECT_EQ(unfit.message, "not a run");

  const JudgeOutcome memory = judged_by("exit " + std::to_string(kOutOfMemoryExit));
  EXPECT_EQ(memory.end, JudgeEnd::exceeded);
  EXPECT_THAT(memory.message, HasSubstr("of memory"));

  const JudgeOutcome full = judged_by("exit " + std::to_string(kDiskFullExit));
  EXPECT_EQ(full.end, JudgeEnd::no_room);

  const JudgeOutcome crashed = judged_by("kill -SEGV $$");
  EXPECT_EQ(crashed.end, JudgeEnd::exceeded);
  EXPECT_THAT(crashed.message, HasSubstr("SIGSEGV"));

  // A file of the evidence can be called anything.
  const JudgeOutcome broken = judged_by("echo 'assay: error: out of memory: no space' >&2; exit 3");
  EXPECT_EQ(broken.end, JudgeEnd::broken);
  EXPECT_THAT(broken.message, HasSubstr("no space"));
}

TEST_F(JudgeProcess, IsStoppedAndIsBrokenWhenItCannotBeStarted) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(judged_by("sleep 60", stop.get_token()).end, JudgeEnd::stopped);

  const JudgeOptions options{.command = {"/nonexistent/judge"}};
  EXPECT_EQ(run_judge(options, folder_.path(), folder_.path() / "judge.log", {}).end,
            JudgeEnd::broken);
}

}  // namespace
}  // namespace assay::tester
