#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "no_descriptors.h"
#include "slurm/slurm_commands.h"

namespace assay::slurm {
namespace {

using ::testing::HasSubstr;

template <class T>
std::string silence_of(const T& answer) {
  const auto* none = std::get_if<NoAnswer>(&answer);
  return none == nullptr ? "an answer" : none->words;
}

// A server that has nothing to spare for a moment goes on, and asks again.
TEST(SlurmCommands, AMachineThatCannotAskHasNoAnswer) {
  const testing::NoDescriptors none;
  EXPECT_THAT(silence_of(ask_nodes()), HasSubstr("sinfo: "));
  EXPECT_THAT(silence_of(ask_jobs(std::nullopt)), HasSubstr("Too many open files"));
  EXPECT_THAT(silence_of(submit({"batch.sh"}, {})), HasSubstr("sbatch: "));
  EXPECT_FALSE(signal_script("7", "TERM"));
  EXPECT_FALSE(cancel("7"));
  EXPECT_FALSE(accounted_job("7"));
  EXPECT_EQ(exit_code_of("7"), "");
  EXPECT_THAT(testing::error_of([] { drain("n1", "a fan"); }), HasSubstr("Too many open files"));
}

}  // namespace
}  // namespace assay::slurm
