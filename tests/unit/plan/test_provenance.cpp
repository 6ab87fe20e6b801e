#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/effective_settings.h"
#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using testing::plan;

const Setting* find(const std::vector<Setting>& all, const std::string& key) {
  for (const Setting& setting : all)
    if (setting.key == key) return &setting;
  return nullptr;
}

std::string origin_of(const CasePlan& c, const std::string& key) {
  const auto found = c.origin.find(key);
  return found == c.origin.end() ? "none" : found->second;
}

// A value that the command cannot see must not stand in the plan as if it had been used.

std::string own_case(const std::string& rest) {
  return "cases:\n  - {name: mine, command: [python3, t.py, '{data}'], " + rest + "}\n";
}

TEST(ConfigUse, AValueWithoutAWayToTheCommandIsAnErrorWhereItWasGiven) {
  EXPECT_THAT(error_of([] { return plan(own_case("env: {A: '1'}, config: {lr: 0.5}")); }),
              AllOf(HasSubstr("s.yaml:2"),
                    HasSubstr("config.lr has no way to the command of the "
                              "case 'mine'"),
                    HasSubstr("{config}"), HasSubstr("it takes {data}, env.A")));
  EXPECT_THAT(error_of([] { return plan(own_case("data: /d"), {"cases.mine.config.lr=0.5"}); }),
              HasSubstr("--set cases.mine.config.lr=0.5: config.lr has no way"));
}

TEST(ConfigUse, ConfigJsonIsOfferedToACommandThatIsToldItsPath) {
  const auto use = [](const std::string& text) {
    return plan("cases: [{name: mine, config: {lr: 1}, " + text + "}]").cases.at(0).config_use;
  };
  EXPECT_EQ(use("command: 't.py --settings={config}'"), ConfigUse::offered);
  EXPECT_EQ(use("command: 't.py {outdir}'"), ConfigUse::offered);
  EXPECT_EQ(use("command: t.py, env: {SETTINGS: '{config}'}"), ConfigUse::offered);
  EXPECT_THAT(error_of([&] { return use("command: 't.py {{config}}'"); }), HasSubstr("no way"));
}

TEST(ConfigUse, TheOptionsOfAWorkloadsProgramAreApplied) {
  catalog::Catalog catalog = testing::small_catalog();
  catalog.workloads.at(0).options.emplace();
  const Suite suite = testing::suite("cases: [train:native:cpu:1:1:1]");
  EXPECT_EQ(make_plan(suite, catalog).cases.at(0).config_use, ConfigUse::applied);
  catalog.workloads.at(0).command = {"train"};
  EXPECT_THAT(
      error_of([&] { return make_plan(suite, catalog); }),
      HasSubstr("conf/workloads/train.yaml:1: config.batch has no way to the program of the "
                "workload 'train'"));
}

TEST(ConfigUse, ACaseWithoutConfigNeedsNoWay) {
  EXPECT_EQ(plan(own_case("data: /d")).cases.at(0).config_use, ConfigUse::none);
}

TEST(Declared, IsRecordedAndGivesThePeakButIsNeverHandedOver) {
  const CasePlan c = plan(
                         "vendor: acme\ncases: [{case: 'bert:torch:X1:1:1:1', command: t.py, "
                         "declared: {lr: 1e-05, precision: fp16}}]")
                         .cases.at(0);
  EXPECT_EQ(c.declared.at("lr"), 1e-05);
  EXPECT_TRUE(c.config.empty());
  EXPECT_EQ(c.peak_flops, 100e12);
  EXPECT_EQ(origin_of(c, "declared.lr"), "s.yaml:2");
}

TEST(Declared, CannotBeSet) {
  const std::string suite = own_case("declared: {lr: 1e-05}");
  EXPECT_THAT(error_of([&] { return plan(suite, {"config.lr=0.5"}); }),
              AllOf(HasSubstr("--set config.lr=0.5: config.lr has no way to the command "
                              "of the case 'mine'"),
                    HasSubstr("declared at s.yaml:2")));
  EXPECT_THAT(error_of([&] { return plan(suite, {"declared.lr=0.5"}); }),
              HasSubstr("'lr' is declared"));
}

TEST(Declared, IsForOwnCommandsOnly) {
  EXPECT_THAT(
      error_of([] { return plan("cases: [{case: train:native:cpu:1:1:1, declared: {lr: 1}}]"); }),
      HasSubstr("'declared' is for a case with a command of its own"));
}

// Who decided a value.

TEST(Origins, NameTheStrongestLayerThatGaveTheValue) {
  const CasePlan c = plan(
                         "defaults:\n  limits: {stall: 30s, grace: 1s}\n  env: {A: '1', B: '2'}\n"
                         "cases:\n  - case: train:native:cpu:1:1:1\n    limits: {grace: 2s}\n"
                         "    env: {B: '3'}\n",
                         {"procs=2"})
                         .cases.at(0);
  EXPECT_EQ(origin_of(c, "limits.grace"), "s.yaml:6");
  EXPECT_EQ(origin_of(c, "limits.stall"), "s.yaml:2");
  EXPECT_EQ(origin_of(c, "limits.time"), "conf/workloads/train.yaml:1");
  EXPECT_EQ(origin_of(c, "limits.output"), "built in");
  EXPECT_EQ(origin_of(c, "env.A"), "s.yaml:3");
  EXPECT_EQ(origin_of(c, "env.B"), "s.yaml:7");
  EXPECT_EQ(origin_of(c, "nodes"), "s.yaml:5");
  EXPECT_EQ(origin_of(c, "procs"), "--set procs=2");
  EXPECT_EQ(origin_of(c, "command"), "conf/workloads/train.yaml:1");
}

TEST(EffectiveSettings, HoldEveryValueWithItsOrigin) {
  const CasePlan c =
      plan("cases: [{case: train:native:cpu:1:1:1, env: {HF_TOKEN: abc, OMP_NUM_THREADS: '4'}}]",
           {"config.lr=0.5"})
          .cases.at(0);
  const auto all = effective_settings(c, "s.yaml");
  for (const Setting& setting : all) EXPECT_NE(setting.origin, "") << setting.key;
  EXPECT_EQ(find(all, "config.lr")->value, 0.5);
  EXPECT_EQ(find(all, "config.lr")->origin, "--set config.lr=0.5");
  EXPECT_EQ(find(all, "config.lr")->use, "offered");
  EXPECT_EQ(find(all, "env.HF_TOKEN")->value, "(hidden)");
  EXPECT_EQ(find(all, "env.OMP_NUM_THREADS")->value, "4");
}

TEST(EffectiveSettings, TheSuitesFolderIsNotTold) {
  EXPECT_EQ(short_origin("/home/me/s.yaml:3", "/home/me/s.yaml"), "s.yaml:3");
  EXPECT_EQ(short_origin("conf/rules/default.yaml:3", "/home/me/s.yaml"),
            "conf/rules/default.yaml:3");
}

// How the rules differ.

TEST(RuleChanges, AreRecordedWithTheStandardBoundAndTheOrigin) {
  const CasePlan c =
      plan(
          "defaults:\n  rules: {min-steps: {min: 5}}\n"
          "cases:\n  - case: train:native:cpu:1:1:1\n    rules: {min-duration: off}\n")
          .cases.at(0);
  ASSERT_EQ(c.rule_changes->size(), 2U);
  EXPECT_EQ(catalog::difference_text(c.rule_changes->at(0)),
            "min-steps: at least 5 steps instead of at least 10 steps (s.yaml:2)");
  EXPECT_TRUE(c.rule_changes->at(0).relaxed());
  EXPECT_FALSE(c.rule_changes->at(1).in_force);
  EXPECT_EQ(c.rule_changes->at(1).origin, "s.yaml:5");
}

TEST(RuleChanges, WhatAnInstallationRelaxesIsAChangeLikeASuites) {
  catalog::Catalog site = testing::small_catalog();
  site.rules.at(0).min = 1;
  site.rules.at(0).origin = "conf/rules/default.yaml:5";
  site.workloads.at(0).rules = catalog::read_rule_changes(
      config::parse_yaml("{min-duration: off}", {"conf/workloads/train.yaml", "", false}));
  const CasePlan c = make_plan(testing::suite("cases: [train:native:cpu:1:1:1]"), site).cases.at(0);
  ASSERT_EQ(c.rule_changes->size(), 2U);
  EXPECT_TRUE(c.rule_changes->at(0).relaxed());
  EXPECT_EQ(c.rule_changes->at(0).origin, "conf/rules/default.yaml:5");
  EXPECT_FALSE(c.rule_changes->at(1).in_force);
  EXPECT_THAT(c.rule_changes->at(1).origin, HasSubstr("conf/workloads/train.yaml"));
}

TEST(RuleChanges, AnExemptionThatAWorkloadWasShippedWithIsNone) {
  catalog::Catalog catalog = testing::small_catalog();
  catalog.workloads.at(0).rules = catalog::read_rule_changes(
      config::parse_yaml("{min-duration: off}", {"conf/workloads/train.yaml", "", false}));
  catalog.standard.changes["train"] = catalog.workloads.at(0).rules;
  const CasePlan c =
      make_plan(testing::suite("cases: [train:native:cpu:1:1:1]"), catalog).cases.at(0);
  EXPECT_TRUE(c.rule_changes->empty());
}

TEST(RuleChanges, SurviveThePlanFile) {
  const Plan p = plan("cases: [{case: train:native:cpu:1:1:1, rules: {min-steps: {min: 99}}}]");
  const Plan back = plan_from_json(to_json(p), "plan.json");
  EXPECT_EQ(back.cases.at(0).rule_changes->at(0).in_force->min, 99);
  EXPECT_EQ(back.cases.at(0).origin, p.cases.at(0).origin);
  EXPECT_EQ(dump_line(to_json(back)), dump_line(to_json(p)));
}

}  // namespace
}  // namespace assay::plan
