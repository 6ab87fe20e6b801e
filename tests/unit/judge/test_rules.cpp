#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "judge/rules.h"
#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Finding> outcome(const catalog::Rule& r, std::optional<Fact> fact,
                             bool only_diagnostic = false) {
  return apply_rules(
      {r}, "round", [&](const std::string&) { return fact; }, "round 1", only_diagnostic);
}

TEST(Rule, FiresBelowItsMinimumAndAboveItsMaximum) {
  const auto bounded = rule("b", "steps", 10, 20);
  EXPECT_EQ(outcome(bounded, Fact{9, ""}).size(), 1U);
  EXPECT_THAT(outcome(bounded, Fact{10, ""}), IsEmpty());
  EXPECT_THAT(outcome(bounded, Fact{20, ""}), IsEmpty());
  EXPECT_EQ(outcome(bounded, Fact{21, ""}).size(), 1U);
}

TEST(Rule, FillsItsReasonAndAdvice) {
  auto r = rule("b", "steps", 10, std::nullopt);
  r.reason = "only {value} of {min} ({detail})";
  r.advice = "do {min}";
  const auto findings = outcome(r, Fact{3, "rank 2"});
  EXPECT_EQ(findings[0].reason, "only 3 of 10 (rank 2)");
  EXPECT_EQ(findings[0].advice, "do 10");
  EXPECT_EQ(findings[0].where, "round 1");
  EXPECT_EQ(outcome(r, Fact{3, ""})[0].reason, "only 3 of 10");
}

TEST(Rule, OnAnUnknownFactIsPassedOverUnlessRequired) {
  auto r = rule("b", "steps", 10, std::nullopt);
  EXPECT_THAT(outcome(r, std::nullopt), IsEmpty());
  r.required = true;
  ASSERT_EQ(outcome(r, std::nullopt).size(), 1U);
  EXPECT_THAT(outcome(r, std::nullopt)[0].reason, HasSubstr("'steps' is required"));
}

TEST(Rule, ThatWouldOnlyRepeatAFailureIsPassedOverInAFailedRound) {
  EXPECT_THAT(outcome(rule("a", "steps", 10, std::nullopt), Fact{1, ""}, true), IsEmpty());
  EXPECT_EQ(outcome(rule("a", "nonfinite_losses", std::nullopt, 0), Fact{1, ""}, true).size(), 1U);
}

TEST(Rule, SeverityDecidesTheVerdict) {
  const auto severity = [&](const std::string& name) {
    auto r = rule("b", "steps", 10, std::nullopt);
    r.severity = name;
    return verdict(outcome(r, Fact{1, ""}));
  };
  EXPECT_EQ(severity("invalid"), Validity::invalid);
  EXPECT_EQ(severity("incomplete"), Validity::incomplete);
  EXPECT_EQ(severity("warning"), Validity::valid);
  EXPECT_EQ(severity("note"), Validity::valid);
}

TEST(Worst, IsInvalidThenIncomplete) {
  EXPECT_EQ(worst(Validity::valid, Validity::incomplete), Validity::incomplete);
  EXPECT_EQ(worst(Validity::invalid, Validity::incomplete), Validity::invalid);
  EXPECT_EQ(worst(Validity::valid, Validity::valid), Validity::valid);
}

std::string complaint(const catalog::Rule& r) {
  try {
    check_rules({r});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "";
}

TEST(CheckRules, NamesTheNearestFactAndThePlaceOfAnUnknownOne) {
  const std::string text = complaint(rule("b", "nonfinite_loses", std::nullopt, 0));
  EXPECT_THAT(text, HasSubstr("rules.yaml:1"));
  EXPECT_THAT(text, HasSubstr("unknown fact 'nonfinite_loses' (did you mean 'nonfinite_losses'?)"));
}

TEST(CheckRules, AcceptsFactsMetricsQualitiesAndOwnMetrics) {
  EXPECT_EQ(complaint(rule("b", "throttled_s", std::nullopt, 0)), "");
  EXPECT_EQ(complaint(rule("b", "p_whole", 100, std::nullopt)), "");
  EXPECT_EQ(complaint(rule("b", "final_acc1", 0.7, std::nullopt)), "");
  EXPECT_THAT(complaint(rule("b", "my_rate", 1, std::nullopt)), HasSubstr("unknown fact"));
  auto plan = case_plan();
  plan.rules = {rule("b", "my_rate", 1, std::nullopt)};
  EXPECT_THROW(check_rules(plan), Error);
  plan.metrics = {{"my_rate", "x", "1", Better::higher, "last", "mean"}};
  EXPECT_NO_THROW(check_rules(plan));
}

TEST(CheckRules, RefusesWhatCanNeverWork) {
  auto r = rule("b", "steps", std::nullopt, std::nullopt);
  EXPECT_THAT(complaint(r), HasSubstr("bounds nothing"));
  r = rule("b", "steps", 5, 1);
  EXPECT_THAT(complaint(r), HasSubstr("min 5 is above max 1"));
  r = rule("b", "steps", 5, std::nullopt);
  r.severity = "wrning";
  EXPECT_THAT(complaint(r), HasSubstr("did you mean 'warning'?"));
  r = rule("b", "steps", 5, std::nullopt);
  r.scope = "run";
  EXPECT_THAT(complaint(r), HasSubstr("unknown scope"));
  r = rule("b", "cv", std::nullopt, 0.1);
  EXPECT_THAT(complaint(r), HasSubstr("fact of a case"));
  r = rule("b", "steps", 5, std::nullopt);
  r.reason = "only {valu}";
  EXPECT_THAT(complaint(r), HasSubstr("unknown placeholder {valu} (did you mean 'value'?)"));
}

}  // namespace
}  // namespace assay::judge
