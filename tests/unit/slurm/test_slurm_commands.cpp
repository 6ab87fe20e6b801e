#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "error_of.h"
#include "no_descriptors.h"
#include "slurm/slurm_commands.h"

namespace assay::slurm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class T>
std::string silence_of(const T& answer) {
  const auto* none = std::get_if<NoAnswer>(&answer);
  return none == nullptr ? "an answer" : none->words;
}

// A server that has nothing to spare for a moment goes on, and asks again.
TEST(SlurmCommands, AMachineThatCannotAskHasNoAnswer) {
  const testing::NoDescriptors none;
  EXPECT_THAT(silence_of(ask_nodes()), HasSubstr("sinfo: "));
  EXPECT_THAT(silence_of(ask_jobs({})), HasSubstr("Too many open files"));
  EXPECT_THAT(silence_of(submit({"batch.sh"})), HasSubstr("sbatch: "));
  EXPECT_FALSE(is_done(signal_script("7", "TERM")));
  EXPECT_FALSE(was_heard(cancel("7")));
  EXPECT_FALSE(accounted_job("7"));
  EXPECT_EQ(exit_code_of("7"), "");
  EXPECT_THAT(testing::error_of([] { drain("n1", "a fan"); }), HasSubstr("Too many open files"));
}

CommandResult failed(const std::string& words, const std::string& out = {}) {
  CommandResult result;
  result.status.code = 1;
  result.err = words;
  result.out = out;
  return result;
}

std::string line_of(const std::string& id) {
  constexpr const char* kRest =
      "\x1fRUNNING\x1fNone\x1f"
      "ann\x1fgpu\x1f"
      "1\x1fn1\x1f"
      "1\x1f"
      "2\x1f"
      "3\x1f/\x1fx\n";
  return id + kRest;
}

TEST(SlurmCommands, SqueueThatDidNotGetToAnswerHasNotSaidThatThereIsNoJob) {
  CommandResult killed;
  killed.status.signal = SIGTERM;  // with the job that it was to tell of
  EXPECT_NE(silence_of(read_jobs({.id = "17"}, killed)), "an answer");
  EXPECT_THAT(
      silence_of(read_jobs({.id = "17"}, failed("slurm_load_jobs error: Unable to contact slurm "
                                                "controller (connect failure)"))),
      HasSubstr("Unable to contact"));
  CommandResult late;
  late.status.code = 0;
  late.timed_out = true;
  EXPECT_EQ(silence_of(read_jobs({.id = "17"}, late, std::chrono::seconds(3))),
            "squeue: no answer within 3 s");
}

TEST(SlurmCommands, AJobThatSlurmctldHasForgottenIsNone) {
  const CommandResult forgotten = failed("slurm_load_jobs error: Invalid job id specified");
  const auto answer = read_jobs({.id = "17"}, forgotten);
  ASSERT_EQ(silence_of(answer), "an answer");
  EXPECT_THAT(std::get<0>(answer), IsEmpty());
}

TEST(SlurmCommands, HalfAListOfJobsIsNoAnswer) {
  const CommandResult broken = failed("connection reset", line_of("17"));
  EXPECT_EQ(silence_of(read_jobs({.id = "17"}, broken)), "an answer") << "it is all there is";
  EXPECT_NE(silence_of(read_jobs({.user = 1000}, broken)), "an answer");
}

TEST(SlurmCommands, AMachineWithoutSlurmSaysSo) {
  CommandResult none;
  none.not_found = true;
  const auto answer = read_jobs({}, none);
  EXPECT_EQ(silence_of(answer), "squeue is not installed");
  EXPECT_TRUE(std::get<NoAnswer>(answer).not_installed);
}

}  // namespace
}  // namespace assay::slurm
