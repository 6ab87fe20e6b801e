#include <gmock/gmock.h>

#include "catalog/rule.h"
#include "error_of.h"

namespace assay::catalog {
namespace {

using assay::testing::error_of;
using ::testing::HasSubstr;

Rule bound(const std::string& fact, std::optional<double> min, std::optional<double> max) {
  Rule rule;
  rule.id = "b";
  rule.fact = fact;
  rule.min = min;
  rule.max = max;
  rule.reason = fact + " is {value} ({detail})";
  rule.origin = "rules.yaml:1";
  return rule;
}

std::string complaint(const Rule& rule, const std::vector<std::string>& own_metrics = {}) {
  return error_of([&] {
    check_rules({&rule, 1}, own_metrics);
    return 0;
  });
}

const std::string kNone = "no error";

TEST(CheckRules, NamesTheNearestFactAndThePlaceOfAnUnknownOne) {
  const std::string text = complaint(bound("nonfinite_loses", std::nullopt, 0));
  EXPECT_THAT(text, HasSubstr("rules.yaml:1"));
  EXPECT_THAT(text, HasSubstr("unknown fact 'nonfinite_loses' (did you mean 'nonfinite_losses'?)"));
}

TEST(CheckRules, NamesTheNearestMetricOfAMisspeltOne) {
  EXPECT_THAT(complaint(bound("p_whol", 1, std::nullopt)), HasSubstr("did you mean 'p_whole'?"));
}

TEST(CheckRules, AcceptsFactsMetricsAndQualities) {
  EXPECT_EQ(complaint(bound("throttled_s", std::nullopt, 0)), kNone);
  EXPECT_EQ(complaint(bound("p_whole", 100, std::nullopt)), kNone);
  EXPECT_EQ(complaint(bound("final_acc1", 0.7, std::nullopt)), kNone);
}

TEST(CheckRules, AcceptsWhatMicroBenchmarksReport) {
  EXPECT_EQ(complaint(bound("busbw_bytes_per_s", 1e9, std::nullopt)), kNone);
  EXPECT_EQ(complaint(bound("copy_bytes_per_s", 1e9, std::nullopt)), kNone);
  EXPECT_EQ(complaint(bound("latency_4KiB", std::nullopt, 1e-3)), kNone);
}

TEST(CheckRules, AcceptsTheCasesOwnMetricsAlone) {
  EXPECT_THAT(complaint(bound("my_rate", 1, std::nullopt)), HasSubstr("unknown fact"));
  EXPECT_EQ(complaint(bound("my_rate", 1, std::nullopt), {"my_rate"}), kNone);
  EXPECT_THAT(complaint(bound("my_rat", 1, std::nullopt), {"my_rate"}), HasSubstr("'my_rate'?"));
}

TEST(CheckRules, RefusesARuleWithoutABound) {
  EXPECT_THAT(complaint(bound("steps", std::nullopt, std::nullopt)), HasSubstr("bounds nothing"));
}

TEST(CheckRules, RefusesBoundsThatExcludeEachOther) {
  EXPECT_THAT(complaint(bound("steps", 5, 1)), HasSubstr("min 5 is above max 1"));
}

TEST(CheckRules, RefusesAFactOfTheOtherScope) {
  EXPECT_THAT(complaint(bound("cv", std::nullopt, 0.1)), HasSubstr("fact of a case"));
  Rule rule = bound("ranks_failed", std::nullopt, 0);
  rule.scope = RuleScope::whole_case;
  EXPECT_THAT(complaint(rule), HasSubstr("fact of a round"));
}

TEST(CheckRules, AMetricCanBeBoundInBothScopes) {
  Rule rule = bound("p_whole", 1, std::nullopt);
  EXPECT_EQ(complaint(rule), kNone);
  rule.scope = RuleScope::whole_case;
  EXPECT_EQ(complaint(rule), kNone);
}

TEST(CheckRules, NamesTheNearestPlaceholder) {
  Rule rule = bound("steps", 5, std::nullopt);
  rule.reason = "only {valu}";
  EXPECT_THAT(complaint(rule), HasSubstr("unknown placeholder {valu} (did you mean 'value'?)"));
  rule.reason = "{valu:step|steps}";
  EXPECT_THAT(complaint(rule), HasSubstr("unknown placeholder {valu} (did you mean 'value'?)"));
  for (const char* text : {"{value:step}", "{value:a|b|c}", "{detail:a|b}"}) {
    rule.reason = text;
    EXPECT_THAT(complaint(rule), HasSubstr("is not a number with its noun")) << text;
  }
}

TEST(RulesFromJson, RefusesAnUnknownScopeOrSeverity) {
  const Rule rule = bound("steps", 5, std::nullopt);
  Json json = to_json(std::vector<Rule>{rule});
  json[0]["severity"] = "wrning";
  EXPECT_THAT(error_of([&] { return rules_from_json(json, "plan.json"); }),
              HasSubstr("plan.json: 'severity' is 'wrning'"));
  json = to_json(std::vector<Rule>{rule});
  json[0]["scope"] = "run";
  EXPECT_THAT(error_of([&] { return rules_from_json(json, "plan.json"); }),
              HasSubstr("plan.json: 'scope' is 'run'"));
}

}  // namespace
}  // namespace assay::catalog
