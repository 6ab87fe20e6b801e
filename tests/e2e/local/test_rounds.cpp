// Warm-up rounds, and rounds until the result is certain.

#include <fstream>

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "core/files.h"
#include "e2e/harness.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class Rounds : public AssayTest {
 protected:
  // Prints the rate of each round; `more` comes before it.
  fs::path rated_suite(const std::string& rates, const std::string& settings,
                       const std::string& more = {}) {
    return script_suite(
        "case $ASSAY_ROUND in " + rates + " esac\n" + more + "\necho rate: $r\n",
        "    metrics: {rate: {match: 'rate: (\\S+)', better: higher}}\n" + settings);
  }
};

TEST_F(Rounds, EndWhenTheResultIsCertainAndTheWarmUpDoesNotCount) {
  const fs::path suite =
      rated_suite("1) r=3;; *) r=100;;", "    repeats: until 2 %\n    warmup_rounds: 1\n");
  const CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("warm-up round 1/1"));
  EXPECT_THAT(run.out,
              HasSubstr("probe: no round after 3 rounds: the mean of rate is known to ± 0 %"));
  const Json one = result()["cases"][0];
  EXPECT_EQ(one["rounds"].size(), 3U);
  EXPECT_EQ(one["rounds"][0]["round"], 2);
  EXPECT_EQ(one["warmup_rounds"][0]["metrics"]["rate"]["value"], 3);
  EXPECT_EQ(one["summary"]["rate"]["min"], 100);
  EXPECT_EQ(one["repeats"], 3);
  EXPECT_THAT(one["repeats_ended"].get<std::string>(), HasSubstr("after 3 rounds"));
  EXPECT_TRUE(fs::exists(latest() / "probe/round1"));
  EXPECT_FALSE(fs::exists(latest() / "probe/round5"));
  double sum = 0;
  for (const Json& share : one["rounds"][0]["time_shares"]) sum += share["seconds"].get<double>();
  EXPECT_NEAR(sum, one["rounds"][0]["wall_s"].get<double>(), 1e-6);
}

TEST_F(Rounds, AWarmUpThatFailsIsSaidAndTheRunIsFine) {
  const fs::path suite = rated_suite("*) r=100;;", "    repeats: 1\n    warmup_rounds: 1\n",
                                     "test $ASSAY_ROUND = 1 && exit 3");
  const CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("1 warm-up round did not complete"));
  EXPECT_EQ(result()["cases"][0]["rounds"].size(), 1U);
  EXPECT_EQ(result()["validity"], "VALID");
}

TEST_F(Rounds, GoOnToTheirLimitAfterTheControllerWasKilled) {
  const std::string marker = "31.4159" + std::to_string(::getpid());
  const fs::path suite = rated_suite("1) r=104;; 2) r=96;; 3) r=100;; *) r=101;;",
                                     "    repeats: {until: 1 %, max: 5}\n",
                                     "test $ASSAY_ROUND = 4 && test ! -e " +
                                         (folder_ / "mended").string() + " && sleep " + marker);
  const pid_t pid = start({"run", suite.string()});
  ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker).size() == 1; }))
      << "a fourth round, since three were not enough";
  send_signal(pid, SIGKILL);
  EXPECT_TRUE(eventually([&] { return processes_with("sleep " + marker).empty(); }, 20s));
  const CommandResult early = assay({"report", latest().string()});
  EXPECT_EQ(result()["cases"][0]["validity"], "INCOMPLETE") << early.out;

  std::ofstream(folder_ / "mended") << "yes";
  const CommandResult resumed = assay({"run", "--resume", latest().string()});
  EXPECT_THAT(resumed.out, HasSubstr("no round after 5 rounds: more are not allowed"));
  const Json one = result()["cases"][0];
  EXPECT_EQ(one["rounds"].size(), 5U);
  for (const Json& round : one["rounds"]) EXPECT_EQ(round["status"], "completed");
  EXPECT_THAT(one["findings"].dump(), HasSubstr("repeats-narrow"));
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
}

}  // namespace assay::e2e
