#include <gtest/gtest.h>
#include <signal.h>

#include "core/subprocess.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

TEST(RunCommand, CapturesOutputAndExitCode) {
  const CommandResult result = run_command({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.status.code, 3);
  EXPECT_FALSE(result.timed_out);
}

TEST(RunCommand, IsBoundedAlsoWhenAGrandchildKeepsThePipeOpen) {
  CommandOptions options;
  options.timeout = 200ms;
  const std::int64_t before = mono_now_ns();
  const CommandResult result = run_command({"sh", "-c", "sleep 8 | cat"}, options);
  EXPECT_TRUE(result.timed_out);
  EXPECT_LT(mono_now_ns() - before, 2'000'000'000);
}

TEST(RunCommand, SaysThatAProgramDoesNotExist) {
  EXPECT_TRUE(run_command({"no-such-program-here"}).not_found);
  EXPECT_TRUE(run_command({}).not_found);
}

TEST(RunCommand, KeepsOnlyTheAllowedAmountOfOutput) {
  CommandOptions options;
  options.max_output = 1000;
  EXPECT_EQ(run_command({"sh", "-c", "yes | head -c 100000"}, options).out.size(), 1000u);
}

TEST(ExitStatus, IsShownAsCodeOrSignal) {
  EXPECT_EQ(to_string(ExitStatus{3, std::nullopt}), "exit 3");
  EXPECT_EQ(to_string(ExitStatus{std::nullopt, SIGSEGV}), "SIGSEGV");
}

}  // namespace
}  // namespace assay
