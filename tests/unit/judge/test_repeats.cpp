#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "judge/repeat_state.h"
#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace judge::testing;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

RoundResult round_at(int number, double rate, RoundStatus status = RoundStatus::completed) {
  RoundResult round;
  round.round = number;
  round.status = status;
  round.validity = status == RoundStatus::completed ? Validity::valid : Validity::invalid;
  if (rate > 0)
    round.metrics = {{{"p_whole", "samples/s", Better::higher, ""}, rate, Origin::measured, ""},
                     {{"step_time_p50", "s", Better::lower, ""}, 1 / rate, Origin::measured, ""}};
  return round;
}

plan::CasePlan until_plan(double half_width = 0.02, int min = 3, int most = 6) {
  plan::CasePlan plan = case_plan(1, 1, most);
  plan.until = plan::RepeatUntil{half_width, min};
  plan.rules = catalog::load_rules(std::string(ASSAY_SOURCE_DIR) + "/conf/rules/default.yaml",
                                   "conf/rules/default.yaml");
  return plan;
}

RepeatState state_after(const std::vector<RoundResult>& rounds,
                        const plan::CasePlan& plan = until_plan()) {
  return repeat_state(plan, summarize_case(plan, rounds));
}

TEST(RepeatUntil, IsEnoughWhenTheIntervalIsNarrow) {
  const RepeatState wide = state_after({round_at(1, 100), round_at(2, 103), round_at(3, 97)});
  EXPECT_FALSE(wide.enough);
  // t(0.975, 2) · 3 / √3 = 7.45
  EXPECT_NEAR(wide.half_width.value(), 0.0745, 1e-4);
  EXPECT_THAT(wide.why, HasSubstr("the mean of p_whole is known to ± 7.45"));
  EXPECT_THAT(wide.why, HasSubstr("± 2 % is wanted"));
  const RepeatState narrow = state_after({round_at(1, 100), round_at(2, 100.5), round_at(3, 99.5)});
  EXPECT_TRUE(narrow.enough);
  EXPECT_THAT(narrow.why, HasSubstr("after 3 rounds"));
}

TEST(RepeatUntil, AsksForItsFewestRoundsFirst) {
  const std::vector<RoundResult> rounds{round_at(1, 100), round_at(2, 100), round_at(3, 100)};
  EXPECT_FALSE(state_after(rounds, until_plan(0.02, 4)).enough);
  EXPECT_TRUE(state_after(rounds, until_plan(0.02, 3)).enough);
}

TEST(RepeatUntil, EndsAtItsLimitWithAWarning) {
  std::vector<RoundResult> rounds;
  for (int i = 1; i <= 6; ++i) rounds.push_back(round_at(i, 100 + 8 * (i % 2)));
  EXPECT_TRUE(state_after(rounds).enough);
  const CaseResult result = summarize_case(until_plan(), rounds, "more are not allowed");
  ASSERT_NE(finding(result.findings, "repeats-narrow"), nullptr);
  EXPECT_EQ(finding(result.findings, "repeats-narrow")->severity, Severity::warning);
  EXPECT_EQ(result.validity, Validity::valid);
}

TEST(RepeatUntil, EndsWithARoundThatFailed) {
  const RepeatState state =
      state_after({round_at(1, 100), round_at(2, 0, RoundStatus::failed), round_at(3, 140)});
  EXPECT_TRUE(state.enough);
  EXPECT_THAT(state.why, HasSubstr("round 2 failed"));
}

TEST(RepeatUntil, EndsWhereNoMetricStandsForTheCase) {
  EXPECT_TRUE(state_after({round_at(1, 0), round_at(2, 0), round_at(3, 0)}).enough);
}

TEST(RepeatUntil, IsIncompleteWhenItWasToGoOn) {
  const std::vector<RoundResult> rounds{round_at(1, 100), round_at(2, 102), round_at(3, 98)};
  const CaseResult result = summarize_case(until_plan(), rounds);
  ASSERT_NE(finding(result.findings, "repeats-go-on"), nullptr);
  EXPECT_EQ(result.validity, Validity::incomplete);
  EXPECT_EQ(finding(result.findings, "repeats-narrow"), nullptr);
}

TEST(RepeatUntil, CountsTheRoundsThatThereWere) {
  const CaseResult result = summarize_case(
      until_plan(), {round_at(1, 100), round_at(2, 100), round_at(3, 100.1)}, "it is certain");
  EXPECT_THAT(result.findings, IsEmpty());
  EXPECT_EQ(result.validity, Validity::valid);
  EXPECT_EQ(result.repeats, 3);
  EXPECT_EQ(result.repeats_ended, "it is certain");
}

TEST(WarmUpRounds, AreInNoStatisticAndNoVerdict) {
  plan::CasePlan plan = until_plan();
  plan.until.reset();
  plan.repeats = 3;
  plan.warmup_rounds = 1;
  RoundResult cold = round_at(1, 10);
  cold.warmup = true;
  cold.validity = Validity::invalid;
  const CaseResult result =
      summarize_case(plan, {cold, round_at(2, 100), round_at(3, 101), round_at(4, 100)});
  EXPECT_THAT(result.rounds, SizeIs(3));
  EXPECT_THAT(result.warmup_rounds, SizeIs(1));
  EXPECT_EQ(result.summary.front().n, 3);
  EXPECT_EQ(result.summary.front().min, 100);
  EXPECT_EQ(result.validity, Validity::valid);
  EXPECT_THAT(result.findings, IsEmpty());
}

TEST(WarmUpRounds, ThatFailAreSaidAndChangeNoVerdict) {
  plan::CasePlan plan = until_plan();
  plan.until.reset();
  plan.repeats = 3;
  plan.warmup_rounds = 1;
  RoundResult cold = round_at(1, 0, RoundStatus::failed);
  cold.warmup = true;
  cold.reason = "rank 0 on node0: exit 3";
  const CaseResult result =
      summarize_case(plan, {cold, round_at(2, 100), round_at(3, 101), round_at(4, 100)});
  ASSERT_THAT(result.findings, SizeIs(1));
  EXPECT_EQ(result.findings[0].rule, "warmup-rounds");
  EXPECT_THAT(result.findings[0].reason, HasSubstr("1 warm-up round did not complete"));
  EXPECT_THAT(result.findings[0].reason, HasSubstr("rank 0 on node0: exit 3"));
  EXPECT_EQ(result.validity, Validity::valid);
}

TEST(WarmUpRounds, AreKnownByTheirNumber) {
  plan::CasePlan plan = case_plan();
  plan.warmup_rounds = 1;
  RoundEvidence evidence = round_of({constant_rank(0)});
  EXPECT_TRUE(judge_round(plan, evidence).warmup);
  evidence.round = 2;
  EXPECT_FALSE(judge_round(plan, evidence).warmup);
}

/// A round with these seconds of data opening and of its first step.
RoundResult started_in(int number, double data, double first_step, double rate = 100) {
  RoundResult round = round_at(number, rate);
  round.time_shares = {{TimePart::launch, 0.2},
                       {TimePart::start, 1.0},
                       {TimePart::data, data},
                       {TimePart::first_step, first_step},
                       {TimePart::steps, 30}};
  round.wall_s = 31.2 + data + first_step;
  return round;
}

CaseResult case_of(std::vector<RoundResult> rounds) {
  plan::CasePlan plan = until_plan();
  plan.until.reset();
  plan.repeats = static_cast<int>(rounds.size());
  return summarize_case(plan, std::move(rounds));
}

TEST(ColdStart, IsNamedWithItsCauseAndChangesNoVerdict) {
  const CaseResult result =
      case_of({started_in(1, 12.5, 4.5), started_in(2, 0.5, 3), started_in(3, 0.6, 3.1)});
  const Finding* note = finding(result.findings, "cold-start");
  ASSERT_NE(note, nullptr);
  EXPECT_EQ(note->severity, Severity::note);
  EXPECT_THAT(note->reason, HasSubstr("round 1 began cold"));
  EXPECT_THAT(note->reason, HasSubstr("13.40 s longer"));
  EXPECT_THAT(note->reason, HasSubstr("(data opening 11.95 s, first step 1.45 s)"));
  EXPECT_EQ(result.validity, Validity::valid);
}

TEST(ColdStart, IsNoneWhereTheStepsWereSlowerToo) {
  const CaseResult result =
      case_of({started_in(1, 12.5, 4.5, 90), started_in(2, 0.5, 3), started_in(3, 0.6, 3.1)});
  EXPECT_EQ(finding(result.findings, "cold-start"), nullptr);
}

TEST(ColdStart, IsNoneWithinTheSpreadOfTheOthers) {
  EXPECT_FALSE(find_cold_start(
      case_of({started_in(1, 1.4, 3), started_in(2, 0.5, 3), started_in(3, 0.6, 3)})))
      << "less than a second";
  EXPECT_FALSE(
      find_cold_start(case_of({started_in(1, 12, 3), started_in(2, 0.5, 3), started_in(3, 10, 3)})))
      << "another one took as long";
  EXPECT_FALSE(find_cold_start(
      case_of({started_in(1, 0.5, 3), started_in(2, 12, 3), started_in(3, 0.6, 3)})))
      << "not the first";
}

TEST(ColdStart, NeedsAnotherRoundAndSteps) {
  EXPECT_FALSE(find_cold_start(case_of({started_in(1, 12.5, 4.5)})));
  RoundResult first = started_in(1, 12.5, 4.5);
  first.metrics.clear();
  EXPECT_FALSE(find_cold_start(case_of({first, started_in(2, 0.5, 3)})));
}

}  // namespace
}  // namespace assay::judge
