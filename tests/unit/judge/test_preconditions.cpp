#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/skipped_cases.h"

namespace assay::judge {
namespace {

using ::testing::HasSubstr;

CaseResult result_of(const std::string& name, Validity validity = Validity::valid) {
  CaseResult result;
  result.name = name;
  result.validity = validity;
  result.rounds.emplace_back().status =
      validity == Validity::valid ? RoundStatus::completed : RoundStatus::failed;
  Summary summary;
  summary.info.name = "p_whole";
  summary.median = 100;
  result.summary.push_back(summary);
  return result;
}

plan::Condition verdict_is(const std::string& of, std::vector<std::string> verdicts) {
  plan::Condition condition;
  condition.of = of;
  condition.verdicts = std::move(verdicts);
  return condition;
}

TEST(Unmet, ComparesTheVerdict) {
  EXPECT_FALSE(unmet(verdict_is("a", {"VALID"}), result_of("a")));
  EXPECT_EQ(unmet(verdict_is("a", {"VALID"}), result_of("a", Validity::invalid)),
            "the verdict of 'a' is INVALID, not VALID");
  EXPECT_FALSE(
      unmet(verdict_is("a", {"INVALID", "INCOMPLETE"}), result_of("a", Validity::invalid)));
}

TEST(Unmet, ASkippedCaseIsSkippedAndNotIncomplete) {
  CaseResult skipped = result_of("a", Validity::incomplete);
  skipped.skipped = Skip{};
  EXPECT_TRUE(unmet(verdict_is("a", {"INCOMPLETE"}), skipped));
  EXPECT_FALSE(unmet(verdict_is("a", {"SKIPPED"}), skipped));
}

TEST(Unmet, ComparesAMetricWithItsBounds) {
  plan::Condition condition;
  condition.of = "a";
  condition.metric = "p_whole";
  condition.min = 100;
  EXPECT_FALSE(unmet(condition, result_of("a")));
  condition.min = 101;
  EXPECT_EQ(unmet(condition, result_of("a")), "p_whole of 'a' is 100, below 101");
  condition.min.reset();
  condition.max = 99;
  EXPECT_EQ(unmet(condition, result_of("a")), "p_whole of 'a' is 100, above 99");
  condition.metric = "mfu";
  EXPECT_EQ(unmet(condition, result_of("a")), "mfu of 'a' is not known");
}

TEST(SkippedCases, ARoundThatBeginsLaterTakesItBack) {
  const Json skip{{"event", "case_skipped"}, {"case", "a"}, {"cause", "hook"}, {"reason", "x"}};
  const Json start{{"event", "round_start"}, {"case", "a"}, {"round", 1}};
  EXPECT_EQ(skipped_cases({start, skip}).at("a").cause, plan::SkipCause::hook);
  EXPECT_TRUE(skipped_cases({skip, start}).empty());
  EXPECT_TRUE(skipped_cases({Json::array(), Json("x"), Json(nullptr)}).empty());
}

/// A run of a case 'a' and one, 'b', that was skipped.
class CheckSkips : public ::testing::Test {
 protected:
  CheckSkips() {
    plan_.cases.resize(2);
    plan_.cases[0].name = "a";
    plan_.cases[1].name = "b";
    run_.cases = {result_of("a"), skipped_result(plan_.cases[1], Skip{})};
  }
  void because(plan::SkipCause cause) { run_.cases[1].skipped->cause = cause; }
  bool founded() {
    RunResult run = run_;
    check_skips(plan_, run);
    return run.cases[1].findings.size() == 1;
  }

  plan::Plan plan_;
  RunResult run_;
};

TEST_F(CheckSkips, NothingAsksForIt) {
  for (const auto cause :
       {plan::SkipCause::dependency, plan::SkipCause::condition, plan::SkipCause::hook}) {
    because(cause);
    EXPECT_FALSE(founded()) << to_text(cause);
  }
}

TEST_F(CheckSkips, ADependencyThatFailedIsAReasonAndOneThatCompletedIsNot) {
  plan_.cases[1].after = {"a"};
  EXPECT_FALSE(founded());
  run_.cases[0] = result_of("a", Validity::invalid);
  EXPECT_TRUE(founded());
}

TEST_F(CheckSkips, AConditionThatDoesNotHoldIsAReason) {
  because(plan::SkipCause::condition);
  plan_.cases[1].only_if = {verdict_is("a", {"VALID"})};
  EXPECT_FALSE(founded());
  plan_.cases[1].only_if = {verdict_is("a", {"INVALID"})};
  EXPECT_TRUE(founded());
}

TEST_F(CheckSkips, AHookThatFailedIsAReason) {
  because(plan::SkipCause::hook);
  HookResult hook;
  hook.verdict = HookVerdict::failed;
  run_.cases[1].hooks = {hook};
  EXPECT_TRUE(founded());
  run_.cases[1].hooks[0].hook.required = false;
  EXPECT_FALSE(founded());
  run_.cases[1].hooks.clear();
  run_.hooks = {hook};
  EXPECT_TRUE(founded());
}

}  // namespace
}  // namespace assay::judge
