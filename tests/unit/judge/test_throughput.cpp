#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(Throughput, OfAConstantRateIsSamplesOverTrainTime) {
  const auto plan = case_plan(1, 4);
  std::vector<RankEvidence> ranks;
  for (int r = 0; r < 4; ++r) ranks.push_back(constant_rank(r));
  const RoundResult round = judge_round(plan, round_of(ranks));
  EXPECT_NEAR(*metric(round, "train_time"), 10, 1e-9);
  EXPECT_NEAR(*metric(round, "samples"), 4 * 100 * 32, 1e-9);
  EXPECT_NEAR(*metric(round, "p_whole"), 4 * 320, 1e-9);
  EXPECT_NEAR(*metric(round, "e2e_time"), 13, 1e-9);
  EXPECT_NEAR(*metric(round, "launch_time"), 0.25, 1e-9);
  EXPECT_NEAR(*metric(round, "steps"), 100, 0);
  EXPECT_EQ(origin(round, "p_whole"), "measured");
  EXPECT_EQ(round.validity, Validity::valid);
}

TEST(Throughput, LeavesOutEvaluationAndDataWait) {
  RankEvidence slow = constant_rank(0, {.data_s = 0.01});
  RankEvidence fast = constant_rank(1, {.data_s = 0.03});
  slow.log.evaluations = {{stamp(5), 1.5, {}}, {stamp(9), 0.5, {}}};
  fast.log.evaluations = {{stamp(5), 1.0, {}}};
  const RoundResult round = judge_round(case_plan(1, 2), round_of({slow, fast}));
  EXPECT_NEAR(*metric(round, "eval_time"), 2, 1e-9);
  EXPECT_NEAR(*metric(round, "data_time"), 2, 1e-9);
  EXPECT_NEAR(*metric(round, "p_whole"), 6400 / 10.0, 1e-9);
  EXPECT_NEAR(*metric(round, "p_train"), 6400 / 8.0, 1e-9);
  EXPECT_NEAR(*metric(round, "p_core"), 6400 / 6.0, 1e-9);
}

TEST(Throughput, WithoutDataWaitHasNoCore) {
  const RoundResult round = judge_round(case_plan(), round_of({constant_rank(0)}));
  EXPECT_TRUE(metric(round, "p_train"));
  EXPECT_FALSE(metric(round, "p_core"));
}

TEST(Throughput, WithEvaluationsThatDoNotSayHowLongTheyTookHasNoPTrain) {
  RankEvidence rank = constant_rank(0);
  rank.log.evaluations = {{stamp(5), std::nullopt, {}}};
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_TRUE(metric(round, "p_whole"));
  EXPECT_FALSE(metric(round, "p_train"));
}

TEST(Throughput, WithoutTrainEventsRunsFromFirstToLastStepAndSaysSo) {
  RankEvidence rank = constant_rank(0);
  rank.log.train_start = {};
  rank.log.train_end = {};
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  // 100 steps, of which the first only marks the beginning: the rate is the same.
  EXPECT_NEAR(*metric(round, "train_time"), 9.9, 1e-9);
  EXPECT_NEAR(*metric(round, "p_whole"), 320, 1e-9);
  EXPECT_EQ(origin(round, "p_whole"), "estimated");
}

TEST(Throughput, WithoutTrainEndRunsToTheLastStep) {
  RankEvidence rank = constant_rank(0);
  rank.log.train_end = {};
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_NEAR(*metric(round, "train_time"), 10, 1e-9);
  EXPECT_EQ(origin(round, "train_time"), "estimated");
}

TEST(Throughput, OfAnEmptyTrainingIsAbsentNotInfinite) {
  RankEvidence rank = constant_rank(0, {.steps = 0});
  rank.log.samples.add(5);
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_FALSE(metric(round, "train_time"));
  EXPECT_FALSE(metric(round, "p_whole"));
  for (const Metric& m : round.metrics) EXPECT_TRUE(std::isfinite(m.value)) << m.info.name;
}

TEST(Throughput, TakesGlobalSamplesFromOneRankAndNeverAdds) {
  std::vector<RankEvidence> ranks{constant_rank(0), constant_rank(1)};
  for (RankEvidence& rank : ranks) {
    rank.log.samples = {};
    for (int i = 0; i < 100; ++i) rank.log.global_samples.add(64);
  }
  const RoundResult round = judge_round(case_plan(1, 2), round_of(ranks));
  EXPECT_NEAR(*metric(round, "samples"), 6400, 1e-9);
}

TEST(Throughput, UsesTheCumulativeCountOfForeignLogs) {
  RankEvidence rank = constant_rank(0);
  rank.log.samples = {};
  rank.log.trained_first = 256;
  rank.log.trained_last = 256 * 100;
  rank.log.trained_stride = 256;
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_NEAR(*metric(round, "p_whole"), 2560, 1e-9);

  rank.log.trained_first = 1e6 + 256;
  rank.log.trained_last = 1e6 + 256 * 100;
  const RoundResult resumed = judge_round(case_plan(), round_of({rank}));
  EXPECT_NEAR(*metric(resumed, "samples"), 256 * 99, 1e-9);
}

TEST(Throughput, FallsBackToWhatTheWorkloadReports) {
  RankEvidence rank = constant_rank(0);
  rank.log.samples = {};
  rank.log.finished = perflog::FinishedSummary{};
  rank.log.finished->p_whole = 579.1;
  rank.log.finished->p_core = 600;
  rank.log.finished->rate_unit = "sequences/s";
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_EQ(*metric(round, "p_whole"), 579.1);
  EXPECT_EQ(origin(round, "p_whole"), "reported");
  EXPECT_EQ(*metric(round, "p_core"), 600);
}

TEST(Throughput, ReportedInTokensIsATokenRate) {
  RankEvidence rank = constant_rank(0);
  rank.log.samples = {};
  rank.log.finished = perflog::FinishedSummary{};
  rank.log.finished->p_whole = 8000;
  rank.log.finished->rate_unit = "tokens/s";
  const RoundResult round = judge_round(case_plan(1, 4), round_of({rank}));
  EXPECT_EQ(*metric(round, "tokens_per_s"), 8000);
  EXPECT_EQ(*metric(round, "tokens_per_s_per_device"), 2000);
  EXPECT_FALSE(metric(round, "p_whole"));
}

TEST(Throughput, ThatDiffersFromTheReportedOneIsAFact) {
  RankEvidence rank = constant_rank(0);
  rank.log.finished = perflog::FinishedSummary{};
  rank.log.finished->p_whole = 400;
  Facts facts;
  const RoundResult round = judge_round(case_plan(), round_of({rank}), &facts);
  EXPECT_EQ(origin(round, "p_whole"), "measured");
  EXPECT_NEAR(facts.at("reported_mismatch").value, 0.2, 1e-9);
  EXPECT_THAT(facts.at("reported_mismatch").detail, HasSubstr("400"));
}

TEST(Tokens, AreCountedLikeSamplesAndPerDevice) {
  std::vector<RankEvidence> ranks{constant_rank(0), constant_rank(1)};
  for (RankEvidence& rank : ranks)
    for (int i = 0; i < 100; ++i) rank.log.tokens.add(1000);
  const RoundResult round = judge_round(case_plan(1, 2), round_of(ranks));
  EXPECT_NEAR(*metric(round, "tokens_per_s"), 20'000, 1e-6);
  EXPECT_NEAR(*metric(round, "tokens_per_s_per_device"), 10'000, 1e-6);
}

TEST(Mfu, IsWorkOverTimeDevicesAndPeak) {
  auto plan = case_plan(1, 2);
  plan.peak_flops = 1e12;
  plan.peak_flops_origin = "suite";
  const RoundResult round = judge_round(
      plan, round_of({constant_rank(0, {.flops = 4e10}), constant_rank(1, {.flops = 4e10})}));
  EXPECT_NEAR(*metric(round, "achieved_flops"), 8e11, 1);
  EXPECT_NEAR(*metric(round, "mfu"), 0.4, 1e-12);
}

TEST(Mfu, IsAbsentWithoutAPeak) {
  const RoundResult round = judge_round(case_plan(), round_of({constant_rank(0, {.flops = 4e10})}));
  EXPECT_TRUE(metric(round, "achieved_flops"));
  EXPECT_FALSE(metric(round, "mfu"));
}

TEST(InitTime, IsFromTheFirstInitStartToTheLastInitEnd) {
  RankEvidence a = constant_rank(0);
  RankEvidence b = constant_rank(1);
  a.log.first_event = a.log.init_start = stamp(0.5);
  a.log.init_end = stamp(1.0);
  b.log.first_event = b.log.init_start = stamp(0.6);
  b.log.init_end = stamp(1.9);
  const RoundResult round = judge_round(case_plan(1, 2), round_of({a, b}));
  EXPECT_NEAR(*metric(round, "init_time"), 1.4, 1e-6);
}

TEST(Metrics, ComeInTheOrderOfTheCatalogue) {
  const RoundResult round = judge_round(case_plan(), round_of({constant_rank(0)}));
  ASSERT_FALSE(round.metrics.empty());
  EXPECT_EQ(round.metrics.front().info.name, "steady_throughput");
  EXPECT_EQ(round.metrics.front().info.unit, "samples/s");
}

TEST(Metrics, OfACommandWithoutPerfLogAreItsTimesOnly) {
  RankEvidence rank = constant_rank(0);
  rank.log = {};
  rank.log.found = true;
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_NEAR(*metric(round, "e2e_time"), 13, 1e-9);
  EXPECT_FALSE(metric(round, "steps"));
  EXPECT_FALSE(metric(round, "train_time"));
}

TEST(ReportedThroughput, StandsInForWhatTheLogDoesNotGive) {
  RankEvidence rank = constant_rank(0);  // samples, but no data_s
  rank.log.finished = perflog::FinishedSummary{};
  rank.log.finished->p_core = 1983;
  rank.log.finished->rate_unit = "images/s";
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_EQ(origin(round, "p_whole"), "measured");
  EXPECT_EQ(*metric(round, "p_core"), 1983);
  EXPECT_EQ(origin(round, "p_core"), "reported");
}

TEST(ReportedMismatch, ComparesSamplesToo) {
  RankEvidence rank = constant_rank(0);  // 100 · 32
  rank.log.finished = perflog::FinishedSummary{};
  rank.log.finished_values = {{"num_trained_samples", 1600}};
  Facts facts;
  (void)judge_round(case_plan(), round_of({rank}), &facts);
  EXPECT_NEAR(facts.at("reported_mismatch").value, 1, 1e-9);
  EXPECT_EQ(facts.at("reported_mismatch").detail,
            "samples is 3200 by the log and 1600 by FINISHED");
}

}  // namespace
}  // namespace assay::judge
