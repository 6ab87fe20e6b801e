#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/catalog.h"
#include "catalog/rule_difference.h"
#include "config/yaml.h"
#include "error_of.h"
#include "temporary_folder.h"

namespace assay::catalog {
namespace {

using assay::testing::error_of;
using ::testing::HasSubstr;

std::vector<RuleChange> changes(const std::string& yaml) {
  return read_rule_changes(config::parse_yaml(yaml, {"s.yaml", "", false}));
}

std::vector<Rule> two_rules() {
  Rule steps;
  steps.id = "min-steps";
  steps.fact = "steps";
  steps.min = 10;
  steps.origin = "conf/rules/default.yaml:3";
  Rule spread;
  spread.id = "spread";
  spread.fact = "cv";
  spread.max = 0.05;
  return {steps, spread};
}

TEST(Rules, ChangesReplaceBoundsAndRememberWhere) {
  const auto rules = resolve_rules(two_rules(), changes("min-steps: {min: 5, severity: warning}"));
  EXPECT_EQ(rules.at(0).min, 5);
  EXPECT_EQ(rules.at(0).severity, Severity::warning);
  EXPECT_EQ(rules.at(0).origin, "s.yaml:1");
  EXPECT_EQ(rules.at(1).max, 0.05);
}

TEST(Rules, OffRemovesAndAStrongerOnRestores) {
  EXPECT_EQ(resolve_rules(two_rules(), changes("spread: off")).size(), 1U);
  auto layers = changes("spread: off");
  for (const RuleChange& change : changes("spread: on")) layers.push_back(change);
  EXPECT_EQ(resolve_rules(two_rules(), layers).size(), 2U);
}

TEST(Rules, UnknownIdNamesTheNearest) {
  EXPECT_THAT(error_of([] { return resolve_rules(two_rules(), changes("min-step: off")); }),
              HasSubstr("s.yaml:1:11: unknown rule 'min-step' (did you mean 'min-steps'?)"));
}

TEST(Rules, MinAboveMaxIsRefused) {
  EXPECT_THAT(error_of([] { return resolve_rules(two_rules(), changes("spread: {min: 1}")); }),
              HasSubstr("min is above max"));
}

TEST(Rules, JsonRoundTripIsExact) {
  auto rules = two_rules();
  rules[0].required = true;
  rules[0].absent = "nobody counted";
  rules[0].aspect = Aspect::completeness;
  rules[0].reason = "only {value}";
  rules[1].max = 0.1 + 0.2;
  const Json json = to_json(rules);
  const auto back = rules_from_json(parse_json(dump_line(json), "x"), "x");
  EXPECT_EQ(to_json(back), json);
  EXPECT_EQ(back.at(1).max, 0.1 + 0.2);
  EXPECT_FALSE(back.at(1).min.has_value());
}

TEST(Rules, APlanOfVersion01HasNoAspects) {
  Json json = to_json(two_rules());
  for (Json& rule : json) rule.erase("aspect");
  EXPECT_EQ(rules_from_json(json, "x").at(0).aspect, Aspect::result);
}

TEST(Rules, DamagedJsonIsAnErrorAtThePlace) {
  EXPECT_THAT(error_of([] {
                return rules_from_json(Json::array({{{"id", 3}}}), "plan.json");
              }),
              HasSubstr("plan.json: not a list of rules"));
}

class RuleFile : public ::testing::Test {
 protected:
  std::vector<Rule> load(const std::string& text) {
    return load_rules(folder_.write("rules.yaml", text), "conf/rules/r.yaml");
  }
  assay::testing::TemporaryFolder folder_;
};

TEST_F(RuleFile, ReadsEveryKey) {
  const auto rules = load(
      "rules:\n"
      "  - {id: a, aspect: plausibility, scope: case, fact: cv, max: 0.1, required: yes,\n"
      "     absent: 'no spread', severity: warning,\n"
      "     reason: 'spread {value} above {max}', advice: repeat}\n");
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].scope, RuleScope::whole_case);
  EXPECT_TRUE(rules[0].required);
  EXPECT_EQ(rules[0].absent, "no spread");
  EXPECT_EQ(rules[0].aspect, Aspect::plausibility);
  EXPECT_EQ(rules[0].origin, "conf/rules/r.yaml:2");
}

TEST_F(RuleFile, RefusesRulesThatCannotWork) {
  EXPECT_THAT(error_of([&] { return load("rules: [{id: a, fact: x, reason: r}]"); }),
              HasSubstr("could never be violated"));
  EXPECT_THAT(
      error_of([&] { return load("rules: [{id: a, fact: x, min: 1, absent: n, reason: r}]"); }),
      HasSubstr("'absent' is the reason of a rule that is required"));
  EXPECT_THAT(error_of([&] { return load("rules: [{id: a, fact: x, min: 1, reason: '{valu}'}]"); }),
              HasSubstr("unknown placeholder {valu} (did you mean 'value'?)"));
  EXPECT_THAT(
      error_of([&] {
        return load(
            "rules: [{id: a, fact: x, min: 1, reason: r}, {id: a, fact: y, min: 1, reason: r}]");
      }),
      HasSubstr("exists twice"));
  EXPECT_THAT(
      error_of([&] { return load("rules: [{id: a, fact: x, min: 1, reason: r, sevrity: note}]"); }),
      HasSubstr("did you mean 'severity'?"));
}

std::vector<RuleDifference> differences(const std::string& yaml) {
  const auto wanted = changes(yaml);
  return rule_differences(two_rules(), resolve_rules(two_rules(), wanted), wanted);
}

TEST(RuleDifferences, SayWhatIsInForceInsteadOfWhat) {
  EXPECT_TRUE(differences("{}").empty());
  EXPECT_TRUE(differences("spread: {max: 0.05}").empty());
  EXPECT_EQ(difference_text(differences("spread: {max: 0.2}").at(0)),
            "spread: at most 20 % instead of at most 5 % (s.yaml:1)");
  EXPECT_EQ(difference_text(differences("spread: off").at(0)),
            "spread: off instead of at most 5 % (s.yaml:1)");
  EXPECT_EQ(difference_text(differences("min-steps: {severity: warning}").at(0)),
            "min-steps: warning instead of invalid (s.yaml:1)");
}

TEST(RuleDifferences, KnowWhatRelaxes) {
  const auto relaxed = [](const std::string& yaml) { return differences(yaml).at(0).relaxed(); };
  EXPECT_TRUE(relaxed("spread: off"));
  EXPECT_TRUE(relaxed("spread: {max: 0.2}"));
  EXPECT_TRUE(relaxed("min-steps: {min: 5}"));
  EXPECT_TRUE(relaxed("min-steps: {severity: note}"));
  EXPECT_TRUE(relaxed("min-steps: {min: 100, severity: warning}"));
  EXPECT_FALSE(relaxed("spread: {max: 0.01}"));
  EXPECT_FALSE(relaxed("min-steps: {min: 100, required: true}"));
}

// Rules of an installation that no suite asked for.

TEST(RuleDifferences, AWiderBoundOfTheInstallationIsRelaxedWithItsPlace) {
  std::vector<Rule> site = two_rules();
  site.at(0).min = 3;
  site.at(0).origin = "conf/rules/default.yaml:9";
  const auto found = rule_differences(two_rules(), site, {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].relaxed());
  EXPECT_EQ(difference_text(found[0]),
            "min-steps: at least 3 steps instead of at least 10 steps (conf/rules/default.yaml:9)");
}

TEST(RuleDifferences, ARuleThatTheInstallationLeavesOutIsOff) {
  std::vector<Rule> site = two_rules();
  site.erase(site.begin());
  const auto found = rule_differences(two_rules(), site, {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].relaxed());
  EXPECT_EQ(difference_text(found[0]),
            "min-steps: off instead of at least 10 steps (left out of conf/rules)");
}

TEST(RuleDifferences, ARuleOfTheSameNameThatAsksSomethingElseIsRelaxed) {
  std::vector<Rule> site = two_rules();
  site.at(0).fact = "ranks_failed";
  const auto found = rule_differences(two_rules(), site, {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].relaxed());
  EXPECT_THAT(difference_text(found[0]),
              HasSubstr("ranks_failed at least 10 ranks instead of steps at least 10 steps"));
}

TEST(RuleDifferences, AnAddedRuleIsListedAndRelaxesNothing) {
  std::vector<Rule> site = two_rules();
  site.push_back(site.at(0));
  site.back().id = "own";
  site.back().origin = "conf/rules/site.yaml:2";
  const auto found = rule_differences(two_rules(), site, {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].relaxed());
  EXPECT_EQ(difference_text(found[0]),
            "own: at least 10 steps, which is not standard (conf/rules/site.yaml:2)");
}

TEST(ShippedRules, AreThoseOfConf) {
  const Catalog catalog = load_catalog({std::string(ASSAY_SOURCE_DIR) + "/conf"});
  EXPECT_EQ(to_json(shipped_rules().rules), to_json(catalog.rules));
  for (const Workload& workload : catalog.workloads)
    EXPECT_TRUE(rule_differences(shipped_rules().of(workload.name),
                                 resolve_rules(catalog.rules, workload.rules), {})
                    .empty())
        << workload.name;
}

TEST(RuleDifferences, JsonRoundTripIsExact) {
  auto all = differences("{spread: off, min-steps: {min: 5}}");
  all.push_back({std::nullopt, two_rules().at(0), "conf/rules/site.yaml:2"});
  const Json json = to_json(all);
  EXPECT_EQ(to_json(rule_differences_from_json(json, "plan.json")), json);
  EXPECT_THAT(error_of([] {
                return rule_differences_from_json(Json::array({Json::object()}), "plan.json");
              }),
              HasSubstr("plan.json: not a list of changed rules"));
}

}  // namespace
}  // namespace assay::catalog
