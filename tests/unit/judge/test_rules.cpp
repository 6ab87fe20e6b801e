#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
      {r}, catalog::RuleScope::round, [&](const std::string&) { return fact; }, "round 1",
      only_diagnostic);
}

TEST(Rule, FiresBelowItsMinimumAndAboveItsMaximum) {
  const auto bounded = rule("b", "steps", 10, 20);
  EXPECT_EQ(outcome(bounded, Fact{9, ""}).size(), 1U);
  EXPECT_THAT(outcome(bounded, Fact{10, ""}), IsEmpty());
  EXPECT_THAT(outcome(bounded, Fact{20, ""}), IsEmpty());
  EXPECT_EQ(outcome(bounded, Fact{21, ""}).size(), 1U);
}

TEST(Rule, OfTwoBoundsOnOneFactOnlyTheWorseIsAFinding) {
  auto seen = rule("seen", "steps", std::nullopt, 10);
  seen.severity = Severity::note;
  const auto too_much = rule("too-much", "steps", std::nullopt, 20);
  const auto found = [&](double value) {
    std::vector<std::string> ids;
    for (const Finding& finding : apply_rules(
             {seen, too_much}, catalog::RuleScope::round,
             [&](const std::string&) {
               return Fact{value, ""};
             },
             "round 1", false))
      ids.push_back(finding.rule);
    return ids;
  };
  EXPECT_THAT(found(10), IsEmpty());
  EXPECT_EQ(found(15), std::vector<std::string>{"seen"});
  EXPECT_EQ(found(25), std::vector<std::string>{"too-much"});
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

TEST(Rule, GivesNumbersTheNounThatFits) {
  auto r = rule("b", "steps", 10, std::nullopt);
  r.reason = "only {value:step is|steps are} there, at least {min:step|steps} ({detail})";
  EXPECT_EQ(outcome(r, Fact{1, ""})[0].reason, "only 1 step is there, at least 10 steps");
  EXPECT_EQ(outcome(r, Fact{0, "x"})[0].reason, "only 0 steps are there, at least 10 steps (x)");
  r.min = 1;
  EXPECT_EQ(outcome(r, Fact{0, ""})[0].reason, "only 0 steps are there, at least 1 step");
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
  const auto of = [&](Severity severity) {
    auto r = rule("b", "steps", 10, std::nullopt);
    r.severity = severity;
    return verdict(outcome(r, Fact{1, ""}));
  };
  EXPECT_EQ(of(Severity::invalid), Validity::invalid);
  EXPECT_EQ(of(Severity::incomplete), Validity::incomplete);
  EXPECT_EQ(of(Severity::warning), Validity::valid);
  EXPECT_EQ(of(Severity::note), Validity::valid);
}

class State : public ::testing::Test {
 protected:
  static catalog::Rule asks(Aspect aspect, const std::string& id, const std::string& fact) {
    catalog::Rule r = rule(id, fact, std::nullopt, 0);
    r.aspect = aspect;
    r.severity = Severity::invalid;
    return r;
  }
  [[nodiscard]] EvidenceState of(const std::map<std::string, double>& facts,
                                 RoundStatus status = RoundStatus::completed) const {
    const FactLookup lookup = [&](const std::string& name) -> std::optional<Fact> {
      const auto at = facts.find(name);
      return at == facts.end() ? std::nullopt : std::optional(Fact{at->second, ""});
    };
    return evidence_state(rules, lookup,
                          apply_rules(rules, catalog::RuleScope::round, lookup, "", false), status);
  }
  std::vector<catalog::Rule> rules{asks(Aspect::completeness, "there", "logs_missing"),
                                   asks(Aspect::integrity, "same", "malformed_lines"),
                                   asks(Aspect::plausibility, "true", "nonfinite_losses")};
};

TEST_F(State, FollowsFromTheRulesOfItsAspect) {
  const EvidenceState state = of({{"logs_missing", 0}, {"malformed_lines", 2}});
  EXPECT_EQ(state.completeness.state, Soundness::ok);
  EXPECT_EQ(state.integrity.state, Soundness::flawed);
  EXPECT_THAT(state.integrity.text, HasSubstr("malformed_lines 2"));
  EXPECT_EQ(state.plausibility.state, Soundness::unknown) << "its fact is not known";
}

TEST_F(State, IsUnknownWhereARequiredFactIsNot) {
  rules[1].required = true;
  rules[1].absent = "nothing was recorded";
  EXPECT_EQ(of({}).integrity.state, Soundness::unknown);
  EXPECT_EQ(of({}).integrity.text, "nothing was recorded");
}

TEST_F(State, OfIntegrityIsFlawedEvenWhereTheSuiteMadeItANote) {
  for (catalog::Rule& r : rules) r.severity = Severity::note;
  const EvidenceState state = of({{"logs_missing", 1}, {"malformed_lines", 1}});
  EXPECT_EQ(state.completeness.state, Soundness::ok);
  EXPECT_EQ(state.integrity.state, Soundness::flawed);
}

TEST_F(State, OfARoundThatDidNotCompleteIsNotComplete) {
  EXPECT_EQ(of({{"logs_missing", 0}}, RoundStatus::failed).completeness.state, Soundness::flawed);
  EXPECT_EQ(of({}, RoundStatus::not_run).completeness.text, "the round was not run");
}

TEST(Worst, IsInvalidThenIncomplete) {
  EXPECT_EQ(worst(Validity::valid, Validity::incomplete), Validity::incomplete);
  EXPECT_EQ(worst(Validity::invalid, Validity::incomplete), Validity::invalid);
  EXPECT_EQ(worst(Validity::valid, Validity::valid), Validity::valid);
}

}  // namespace
}  // namespace assay::judge
