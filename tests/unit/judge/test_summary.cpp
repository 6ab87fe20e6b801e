#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using ::testing::HasSubstr;

RoundResult round_with(int number, double p_whole, RoundStatus status = RoundStatus::completed) {
  RoundResult round;
  round.round = number;
  round.status = status;
  round.validity = status == RoundStatus::completed ? Validity::valid : Validity::invalid;
  round.metrics = {{{"p_whole", "samples/s", Better::higher, ""}, p_whole, Origin::measured, ""},
                   {{"e2e_time", "s", Better::lower, ""}, 20, Origin::measured, ""}};
  return round;
}

catalog::Rule spread_rule() {
  catalog::Rule r = rule("repeat-spread", "cv", std::nullopt, 0.05);
  r.scope = catalog::RuleScope::whole_case;
  return r;
}

const Summary& summary(const CaseResult& result, const std::string& name) {
  for (const Summary& s : result.summary)
    if (s.info.name == name) return s;
  throw std::runtime_error("no summary of " + name);
}

TEST(Summary, HasTheStatisticsOfTheRounds) {
  const CaseResult result = summarize_case(
      case_plan(1, 1, 4),
      {round_with(1, 100), round_with(2, 104), round_with(3, 96), round_with(4, 120)});
  const Summary& s = summary(result, "p_whole");
  EXPECT_EQ(s.n, 4);
  EXPECT_DOUBLE_EQ(s.mean, 105);
  EXPECT_DOUBLE_EQ(s.median, 102);
  EXPECT_DOUBLE_EQ(s.min, 96);
  EXPECT_DOUBLE_EQ(s.max, 120);
  EXPECT_DOUBLE_EQ(*s.olympic_mean, 102);
  const double sd = std::sqrt((25 + 1 + 81 + 225) / 3.0);
  EXPECT_NEAR(*s.stddev, sd, 1e-12);
  EXPECT_NEAR(*s.cv, sd / 105, 1e-12);
  EXPECT_NEAR(*s.ci95_high - 105, 3.182446305284263 * sd / 2, 1e-9);
  EXPECT_EQ(s.note, "");
  EXPECT_EQ(result.headline, "p_whole");
}

TEST(Summary, LeavesOutRoundsThatDidNotComplete) {
  const CaseResult result = summarize_case(
      case_plan(1, 1, 3),
      {round_with(1, 100), round_with(2, 1, RoundStatus::failed), round_with(3, 102)});
  const Summary& s = summary(result, "p_whole");
  EXPECT_EQ(s.n, 2);
  EXPECT_EQ(s.min, 100);
  EXPECT_FALSE(s.ci95_low);
  EXPECT_FALSE(s.olympic_mean);
  EXPECT_THAT(s.note, HasSubstr("2 of 3 rounds completed"));
  EXPECT_THAT(s.note, HasSubstr("need 3 rounds"));
  EXPECT_EQ(result.validity, Validity::invalid);
}

TEST(Summary, OfOneRoundSaysWhatIsMissing) {
  const CaseResult result = summarize_case(case_plan(1, 1, 1), {round_with(1, 100)});
  const Summary& s = summary(result, "p_whole");
  EXPECT_FALSE(s.stddev);
  EXPECT_FALSE(s.cv);
  EXPECT_THAT(s.note, HasSubstr("need 2 rounds"));
  EXPECT_EQ(result.validity, Validity::valid);
}

TEST(Headline, OfNothingOrLessIsNeverValid) {
  auto plan = case_plan(1, 1, 2);
  catalog::Rule positive = rule("headline-positive", "headline_not_positive", std::nullopt, 0);
  positive.scope = catalog::RuleScope::whole_case;
  plan.rules = {positive};
  const auto verdict_of = [&](double value) {
    return summarize_case(plan, {round_with(1, 100), round_with(2, value)}).validity;
  };
  EXPECT_EQ(verdict_of(101), Validity::valid);
  EXPECT_EQ(verdict_of(1e-300), Validity::valid);
  EXPECT_EQ(verdict_of(0), Validity::invalid);
  EXPECT_EQ(verdict_of(-5), Validity::invalid);
  EXPECT_EQ(verdict_of(std::nan("")), Validity::invalid);
  EXPECT_EQ(verdict_of(INFINITY), Validity::invalid);
}

TEST(Headline, FallsBackToTokensThenOutputThenTime) {
  auto plan = case_plan();
  plan.metrics = {{"rate", "x", "1", Better::higher, "last", "mean"}};
  RoundResult round = round_with(1, 1);
  round.metrics[0].info.name = "tokens_per_s";
  EXPECT_EQ(summarize_case(plan, {round}).headline, "tokens_per_s");
  round.metrics[0].info.name = "rate";
  EXPECT_EQ(summarize_case(plan, {round}).headline, "rate");
  round.metrics.erase(round.metrics.begin());
  EXPECT_EQ(summarize_case(plan, {round}).headline, "e2e_time");
  EXPECT_EQ(summarize_case(plan, {RoundResult{}}).headline, "");
}

TEST(Summary, TheHeadlineIsTheOneThatTheWorkloadNames) {
  auto plan = case_plan(1, 1, 1);
  plan.headline = "e2e_time";
  EXPECT_EQ(summarize_case(plan, {round_with(1, 100)}).headline, "e2e_time");
  plan.headline = "final_acc1";
  EXPECT_EQ(summarize_case(plan, {round_with(1, 100)}).headline, "p_whole") << "it has none";
}

TEST(Summary, AMicroBenchmarkIsQuotedInItsOwnUnit) {
  RoundResult round = round_with(1, 100);
  round.metrics.push_back(
      {{"achieved_flops", "FLOP/s", Better::higher, ""}, 1e12, Origin::measured, ""});
  EXPECT_EQ(summarize_case(case_plan(), {round}).headline, "p_whole");
  round.metrics.push_back(
      {{"peak_flops", "FLOP/s", Better::higher, ""}, 2e12, Origin::reported, ""});
  EXPECT_EQ(summarize_case(case_plan(), {round}).headline, "achieved_flops");
  round.metrics.push_back(
      {{"triad_bytes_per_s", "B/s", Better::higher, ""}, 3, Origin::reported, ""});
  EXPECT_EQ(summarize_case(case_plan(), {round}).headline, "triad_bytes_per_s");
}

Metric of(const std::string& name, double value) {
  return {{name, "", Better::higher, ""}, value, Origin::measured, ""};
}

TEST(Headline, OfAFixedLengthIsTheSteadyThroughput) {
  RoundResult round = round_with(1, 100);
  round.metrics.push_back(of("steady_tokens_per_s", 9000));
  EXPECT_EQ(summarize_case(case_plan(), {round}).headline, "steady_tokens_per_s");
  round.metrics.push_back(of("steady_throughput", 150));
  EXPECT_EQ(summarize_case(case_plan(), {round}).headline, "steady_throughput");
  EXPECT_EQ(summarize_case(case_plan(), {round}).beside, "");
}

TEST(Headline, OfATargetIsTheTimeToItWithTheSteadyThroughputBeside) {
  RoundResult round = round_with(1, 100);
  round.metrics.push_back(of("steady_throughput", 150));
  round.metrics.push_back(of("time_to_target", 12));
  const CaseResult result = summarize_case(case_plan(), {round});
  EXPECT_EQ(result.headline, "time_to_target");
  EXPECT_EQ(result.beside, "steady_throughput");
}

TEST(Headline, OfABandwidthHasTheBestStepBeside) {
  RoundResult round = round_with(1, 100);
  round.metrics.push_back(of("triad_bytes_per_s", 4e12));
  EXPECT_EQ(summarize_case(case_plan(), {round}).beside, "");
  round.metrics.push_back(of("triad_best_bytes_per_s", 5e12));
  EXPECT_EQ(summarize_case(case_plan(), {round}).beside, "triad_best_bytes_per_s");
}

CaseResult rounds_to_target(const std::vector<double>& times, const std::vector<double>& speeds) {
  auto plan = case_plan(1, 1, static_cast<int>(times.size()));
  catalog::Rule target = rule("target-spread", "target_cv", std::nullopt, 0.3);
  target.scope = catalog::RuleScope::whole_case;
  target.severity = Severity::warning;
  plan.rules = {spread_rule(), target};
  std::vector<RoundResult> rounds;
  for (std::size_t i = 0; i < times.size(); ++i) {
    rounds.push_back(round_with(static_cast<int>(i) + 1, 100));
    rounds.back().metrics.push_back(of("steady_throughput", speeds[i]));
    rounds.back().metrics.push_back(of("time_to_target", times[i]));
  }
  return summarize_case(plan, std::move(rounds));
}

TEST(RepeatSpread, OfATargetIsAboutTheSpeedNotTheSeeds) {
  const CaseResult seeds = rounds_to_target({10, 14, 12}, {1000, 1001, 999});
  EXPECT_TRUE(seeds.findings.empty());
  EXPECT_EQ(seeds.validity, Validity::valid);
  const CaseResult machine = rounds_to_target({12, 12, 12}, {1000, 1200, 800});
  EXPECT_EQ(machine.validity, Validity::invalid);
  ASSERT_NE(finding(machine.findings, "repeat-spread"), nullptr);
}

TEST(TargetSpread, OfSeedsThatDifferMuchIsAWarning) {
  const CaseResult wide = rounds_to_target({5, 12, 20}, {1000, 1001, 999});
  EXPECT_NE(finding(wide.findings, "target-spread"), nullptr);
  EXPECT_EQ(wide.validity, Validity::valid);
}

TEST(Summary, WhatTheSuiteReadsFromTheOutputRanksBelowWhatIsMeasured) {
  RoundResult round = round_with(1, 100);
  round.metrics.push_back({{"throughput_ratio", "", Better::higher, ""}, 3, Origin::reported, ""});
  auto plan = case_plan();
  EXPECT_EQ(summarize_case(plan, {round}).headline, "throughput_ratio") << "of set_result";
  plan.metrics = {{"throughput_ratio", "x", "1", Better::higher, "last", "mean"}};
  EXPECT_EQ(summarize_case(plan, {round}).headline, "p_whole");
}

TEST(RepeatSpread, FiresWhenThreeRoundsDifferTooMuch) {
  auto plan = case_plan(1, 1, 3);
  plan.rules = {spread_rule()};
  const CaseResult wide =
      summarize_case(plan, {round_with(1, 100), round_with(2, 120), round_with(3, 80)});
  ASSERT_NE(finding(wide.findings, "repeat-spread"), nullptr);
  EXPECT_EQ(wide.validity, Validity::invalid);
  const CaseResult narrow =
      summarize_case(plan, {round_with(1, 100), round_with(2, 101), round_with(3, 99)});
  EXPECT_EQ(finding(narrow.findings, "repeat-spread"), nullptr);
  EXPECT_EQ(narrow.validity, Validity::valid);
}

TEST(RepeatSpread, OfTooFewRoundsIsSaidNotHidden) {
  auto plan = case_plan(1, 1, 2);
  plan.rules = {spread_rule()};
  const CaseResult result = summarize_case(plan, {round_with(1, 100), round_with(2, 200)});
  ASSERT_NE(finding(result.findings, "repeat-spread"), nullptr);
  EXPECT_EQ(finding(result.findings, "repeat-spread")->severity, Severity::note);
  EXPECT_EQ(result.validity, Validity::valid);
}

TEST(RepeatSpread, OfAShortPlainCommandIsNotJudgedByItsDuration) {
  auto plan = case_plan(1, 1, 3);
  plan.rules = {spread_rule()};
  std::vector<RoundResult> rounds;
  for (const double e2e : {0.01, 0.02, 0.005}) {
    rounds.push_back(round_with(1, 0));
    rounds.back().metrics = {{{"e2e_time", "s", Better::lower, ""}, e2e, Origin::measured, ""}};
  }
  EXPECT_EQ(summarize_case(plan, rounds).validity, Validity::valid);
}

TEST(IntervalWidth, OfFewRoundsIsSaidBesideTheVerdict) {
  auto plan = case_plan(1, 1, 3);
  auto width = rule("interval-width", "ci95_half", std::nullopt, 0.2);
  width.scope = catalog::RuleScope::whole_case;
  width.severity = Severity::note;
  plan.rules = {width};
  // A coefficient of variation of 10 %: within 20 %, but ± 25 % for the mean of three.
  const CaseResult wide =
      summarize_case(plan, {round_with(1, 90), round_with(2, 100), round_with(3, 110)});
  ASSERT_NE(finding(wide.findings, "interval-width"), nullptr);
  EXPECT_EQ(wide.validity, Validity::valid);
  const CaseResult narrow =
      summarize_case(plan, {round_with(1, 99), round_with(2, 100), round_with(3, 101)});
  EXPECT_EQ(finding(narrow.findings, "interval-width"), nullptr);
}

Json ran(const std::string& program, const std::string& code) {
  return Json::array({{{"node", 0},
                       {"host", "n0"},
                       {"program", {{"path", "/bin/t"}, {"sha256", program}}},
                       {"code", {{"path", "/w"}, {"sha256", code}, {"complete", true}}}}});
}

CaseResult case_that_ran(const Json& first, const Json& second) {
  auto plan = case_plan(1, 1, 2);
  auto program = rule("same-program", "program_changes", std::nullopt, 0);
  auto code = rule("same-code", "code_changes", std::nullopt, 0);
  program.scope = code.scope = catalog::RuleScope::whole_case;
  code.severity = Severity::warning;
  plan.rules = {program, code};
  RoundResult one = round_with(1, 100);
  RoundResult two = round_with(2, 100);
  one.executed = first;
  two.executed = second;
  return summarize_case(plan, {one, two});
}

TEST(SameProgram, RoundsOfAnotherProgramAreInvalid) {
  EXPECT_EQ(case_that_ran(ran("a", "c"), ran("a", "c")).validity, Validity::valid);
  const CaseResult other = case_that_ran(ran("a", "c"), ran("b", "c"));
  EXPECT_EQ(other.validity, Validity::invalid);
  EXPECT_NE(finding(other.findings, "same-program"), nullptr);
}

TEST(SameProgram, OtherCodeIsAWarningBecauseTrainingsWriteBesideIt) {
  const CaseResult other = case_that_ran(ran("a", "c"), ran("a", "d"));
  EXPECT_EQ(other.validity, Validity::valid);
  EXPECT_NE(finding(other.findings, "same-code"), nullptr);
}

TEST(SameProgram, WhatWasNotRecordedIsNotCompared) {
  EXPECT_TRUE(case_that_ran(Json::array(), Json::array()).findings.empty());
  EXPECT_TRUE(case_that_ran(ran("a", "c"), ran("", "")).findings.empty());
}

TEST(CaseRules, SeeTheMedianOfAMetric) {
  auto plan = case_plan(1, 1, 3);
  auto bound = rule("fast-enough", "p_whole", 99, std::nullopt);
  bound.scope = catalog::RuleScope::whole_case;
  plan.rules = {bound};
  const CaseResult result =
      summarize_case(plan, {round_with(1, 50), round_with(2, 98), round_with(3, 150)});
  EXPECT_NE(finding(result.findings, "fast-enough"), nullptr);
}

TEST(CaseVerdict, OfACaseWithoutRoundsIsIncomplete) {
  EXPECT_EQ(summarize_case(case_plan(), {}).validity, Validity::incomplete);
}

// A number of a case is no better than the worst of its rounds.
TEST(Origins, OfSeveralRoundsAreTheWorst) {
  EXPECT_EQ(worst(Origin::measured, Origin::estimated), Origin::estimated);
  EXPECT_EQ(worst(Origin::claimed, Origin::reported), Origin::claimed);
  std::vector<RoundResult> rounds;
  for (const Origin origin : {Origin::measured, Origin::reported, Origin::estimated}) {
    rounds.emplace_back();
    rounds.back().status = RoundStatus::completed;
    rounds.back().metrics = {{{"p_whole", "samples/s", Better::higher, ""}, 10, origin, ""}};
  }
  const CaseResult result = summarize_case(testing::case_plan(1, 1, 3), std::move(rounds));
  EXPECT_EQ(result.summary.at(0).origin, Origin::reported);
}

}  // namespace
}  // namespace assay::judge
