#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/evaluations.h"
#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using ::testing::HasSubstr;

plan::CasePlan plan_with_target(double value, Better better = Better::higher) {
  auto plan = case_plan();
  plan.target = plan::Target{"acc1", value, better};
  plan.rules = {rule("converged", "converged", 1, std::nullopt)};
  return plan;
}

RankEvidence learning_rank() {
  RankEvidence rank = constant_rank(0);
  rank.log.evaluations = {{stamp(4), 0.5, {{"eval_acc1", 0.5}}},
                          {stamp(7), 0.5, {{"eval_acc1", 0.76}}},
                          {stamp(11), 0.5, {{"eval_acc1", 0.74}}}};
  return rank;
}

TEST(TimeToTarget, IsFromTrainStartToTheFirstEvaluationThatMeetsIt) {
  const RoundResult round = judge_round(plan_with_target(0.75), round_of({learning_rank()}));
  EXPECT_NEAR(*metric(round, "time_to_target"), 5, 1e-9);
  EXPECT_EQ(*metric(round, "converged"), 1);
  EXPECT_EQ(round.validity, Validity::valid);
}

TEST(QualitySeries, HaveTheTargetAndTheBestReachableValueAsLevels) {
  RankEvidence rank = learning_rank();
  rank.log.evaluations[0].values.emplace_back("eval_loss", 0.9);
  rank.log.evaluations[1].values.emplace_back("eval_loss", std::nan(""));
  rank.log.finished_values = {{"best_reachable", 0.95}};
  const RoundResult round = judge_round(plan_with_target(0.75), round_of({rank}));
  const auto accuracy = std::ranges::find(round.series, "acc1", &Series::name);
  ASSERT_NE(accuracy, round.series.end());
  ASSERT_EQ(accuracy->points.size(), 3U);
  EXPECT_NEAR(accuracy->points[1].t_s, 7, 1e-9);
  EXPECT_EQ(accuracy->points[1].value, 0.76);
  const auto loss = std::ranges::find(round.series, "eval_loss", &Series::name);
  ASSERT_NE(loss, round.series.end());
  EXPECT_EQ(loss->points.size(), 1U) << "what is not a number is left out";
  ASSERT_EQ(round.levels.size(), 2U);
  EXPECT_EQ(round.levels[0].series, "acc1");
  EXPECT_EQ(round.levels[0].name, "target");
  EXPECT_EQ(round.levels[0].value, 0.75);
  EXPECT_EQ(round.levels[1].series, "acc1") << "not the loss";
  EXPECT_EQ(round.levels[1].value, 0.95);
}

TEST(QualitySeries, OfAWorkloadThatLogsManyAreBounded) {
  RankEvidence rank = constant_rank(0);
  Evaluation evaluation{stamp(4), 0.5, {}};
  for (int i = 0; i < 100; ++i) evaluation.values.emplace_back("eval_" + std::to_string(i), i);
  rank.log.evaluations = {evaluation};
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_EQ(std::ranges::count(round.series, "evaluation", &Series::label), 6);
}

TEST(TimeToTarget, IsAbsentWhenTheTargetIsNotReached) {
  const RoundResult round = judge_round(plan_with_target(0.8), round_of({learning_rank()}));
  EXPECT_FALSE(metric(round, "time_to_target"));
  EXPECT_EQ(*metric(round, "converged"), 0);
  EXPECT_EQ(round.validity, Validity::invalid);
  ASSERT_NE(finding(round.findings, "converged"), nullptr);
  EXPECT_THAT(finding(round.findings, "converged")->reason, HasSubstr("acc1 ≥ 0.8, best 0.76"));
}

TEST(ReportedRates, OfAMicroBenchmarkAreMetricsWithTheirUnits) {
  RankEvidence rank = constant_rank(0);
  rank.log.finished = perflog::FinishedSummary{};
  rank.log.finished_values = {
      {"busbw_bytes_per_s", 2e9}, {"busbw_64KiB", 1e9}, {"latency_us_64KiB", 40}, {"megabytes", 3}};
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_EQ(*metric(round, "busbw_bytes_per_s"), 2e9);
  EXPECT_EQ(*metric(round, "busbw_64KiB"), 1e9);
  EXPECT_DOUBLE_EQ(*metric(round, "latency_64KiB"), 40e-6);
  EXPECT_FALSE(metric(round, "megabytes"));
  EXPECT_EQ(summarize_case(case_plan(), {round}).headline, "busbw_bytes_per_s");
}

TEST(Converged, MayHaveATargetThatIsBetterWhenLower) {
  RankEvidence rank = constant_rank(0);
  rank.log.evaluations = {{stamp(4), 0.5, {{"acc1", 3.0}}}, {stamp(6), 0.5, {{"acc1", 1.9}}}};
  const RoundResult round = judge_round(plan_with_target(2, Better::lower), round_of({rank}));
  EXPECT_NEAR(*metric(round, "time_to_target"), 4, 1e-9);
}

TEST(Converged, CountsAValueThatOnlyFinishedReports) {
  RankEvidence rank = constant_rank(0);
  rank.log.finished = perflog::FinishedSummary{};
  rank.log.finished->quality = {{"final_acc1", 0.77, Better::higher}};
  rank.log.finished_values = {{"final_acc1", 0.77}};
  const RoundResult round = judge_round(plan_with_target(0.75), round_of({rank}));
  EXPECT_EQ(*metric(round, "converged"), 1);
  EXPECT_EQ(*metric(round, "final_acc1"), 0.77);
  EXPECT_FALSE(metric(round, "time_to_target"));
}

TEST(Converged, IsZeroWhenNothingReportsTheTarget) {
  Facts facts;
  const RoundResult round =
      judge_round(plan_with_target(0.75), round_of({constant_rank(0)}), &facts);
  EXPECT_EQ(facts.at("converged").value, 0);
  EXPECT_THAT(facts.at("converged").detail, HasSubstr("no EVALUATE or FINISHED reports it"));
  EXPECT_EQ(round.validity, Validity::invalid);
}

TEST(Converged, IsNotBelievedWithoutAValueThatMeetsTheTarget) {
  RankEvidence rank = constant_rank(0);
  rank.log.finished = perflog::FinishedSummary{};
  rank.log.finished->converged = true;
  Facts facts;
  const RoundResult round = judge_round(plan_with_target(0.75), round_of({rank}), &facts);
  EXPECT_EQ(facts.at("converged").value, 0);
  EXPECT_THAT(facts.at("converged").detail, HasSubstr("no EVALUATE or FINISHED reports it"));
  EXPECT_EQ(round.validity, Validity::invalid);
}

TEST(Converged, IsOnlyThereWithATarget) {
  RankEvidence rank = constant_rank(0);
  rank.log.finished = perflog::FinishedSummary{};
  rank.log.finished->converged = false;
  Facts facts;
  const RoundResult round = judge_round(case_plan(), round_of({rank}), &facts);
  EXPECT_FALSE(facts.contains("converged"));
  EXPECT_EQ(origin(round, "converged"), "absent");
}

TEST(FinalQuality, IsThatOfTheLastEvaluation) {
  const RoundResult round = judge_round(case_plan(), round_of({learning_rank()}));
  EXPECT_EQ(*metric(round, "final_acc1"), 0.74);
}

TEST(TargetMetric, IsFoundUnderItsUsualNames) {
  EXPECT_TRUE(is_target_metric("eval_mlm_accuracy", "mlm_accuracy"));
  EXPECT_TRUE(is_target_metric("final_mAP", "map"));
  EXPECT_TRUE(is_target_metric("acc1", "target_acc1") == false);
  EXPECT_FALSE(is_target_metric("eval_loss", "acc"));
}

TEST(Loss, FirstAndLastAreThoseOfTheSteps) {
  const RoundResult round = judge_round(case_plan(), round_of({constant_rank(0)}));
  EXPECT_NEAR(*metric(round, "loss_first"), 2, 1e-6);
  EXPECT_NEAR(*metric(round, "loss_last"), 0.02, 1e-6);
}

TEST(Loss, ThatBecameNanHasNoLastValue) {
  RankEvidence rank = constant_rank(0);
  rank.log.tracks[0].steps.back().loss = std::numeric_limits<float>::quiet_NaN();
  rank.log.nonfinite_losses = 1;
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_TRUE(metric(round, "loss_first"));
  EXPECT_FALSE(metric(round, "loss_last"));
}

}  // namespace
}  // namespace assay::judge
