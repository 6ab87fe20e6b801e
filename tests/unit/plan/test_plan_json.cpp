#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

Plan full_plan() {
  Plan p = testing::plan(R"(
name: full
vendor: acme
cluster: {launcher: ssh, hosts: [a, {name: b, slots: 9}], ssh: {user: u}, master_port: 29500}
telemetry: {interval: 123456us, enabled: off}
cases:
  - case: train:native:X1:2:8:3
    data: /d
    workdir: /w
    launch: head
    drop_caches: true
    config: {lr: 0.30000000000000004}
    env: {A: "x\ny"}
    metrics: {m: {match: '(\d+)', unit: s, better: lower, reduce: median, across: max}}
    limits: {time: 1.000000001s, stall: off, output: 12345678901}
  - {name: plain, command: [x, 'y z'], procs: 2, bind: ['0', '1-2']}
)");
  return p;
}

TEST(PlanJson, RoundTripIsExact) {
  Plan p = full_plan();
  p.cluster.hosts.at(1).reached = "10.1.2.3";  // which the suite does not say
  const std::string text = dump_pretty(to_json(p));
  const Plan back = plan_from_json(parse_json(text, "plan.json"), "plan.json");
  EXPECT_EQ(dump_pretty(to_json(back)), text);
  EXPECT_EQ(back.telemetry.interval, std::chrono::nanoseconds(123456000));
  EXPECT_FALSE(back.telemetry.enabled);
  const CasePlan& c = back.cases.at(0);
  EXPECT_EQ(c.config.at("lr"), 0.30000000000000004);
  EXPECT_EQ(c.limits.time, std::chrono::nanoseconds(1000000001));
  EXPECT_EQ(c.limits.output_bytes, 12345678901ULL);
  EXPECT_EQ(c.launch, LaunchMode::head);
  EXPECT_TRUE(c.drop_caches);
  EXPECT_EQ(back.cases.at(1).bind.lists.at(1).text(), "1-2");
  EXPECT_EQ(c.data_paths, std::vector<std::string>{"/d"});
  EXPECT_EQ(c.env.at("A"), "x\ny");
  EXPECT_EQ(c.metrics.at(0).better, Better::lower);
  EXPECT_EQ(c.peak_flops, 100e12);
  EXPECT_EQ(c.rules.at(0).min, 10);
  EXPECT_EQ(back.cluster.hosts.at(1).slots, 9);
  EXPECT_EQ(back.cluster.address_of(p.cluster.hosts[1].name), "10.1.2.3");
  EXPECT_EQ(back.cases.at(1).command.at(1), "y z");
  EXPECT_FALSE(back.cases.at(1).target.has_value());
}

TEST(PlanJson, EveryMissingFieldIsNamedNotCrashedOn) {
  const Json whole = to_json(full_plan());
  const auto without = [&](const Json::json_pointer& parent, const std::string& key) {
    Json broken = whole;
    broken[parent].erase(key);
    return error_of([&] { return plan_from_json(broken, "plan.json"); });
  };
  for (const auto& [key, value] : whole.items())
    EXPECT_THAT(without(Json::json_pointer(""), key), HasSubstr("'" + key + "' is missing")) << key;
  for (const auto& [key, value] : whole["cases"][0].items())
    // What older plans do not have is optional.
    if (key != "target" && key != "peak_flops" && key != "drop_caches" && key != "bind" &&
        key != "data_paths" && key != "config_use" && key != "origin" && key != "rule_changes") {
      EXPECT_THAT(without(Json::json_pointer("/cases/0"), key),
                  HasSubstr("plan.json: case 1: '" + key + "' is missing"))
          << key;
    }
}

TEST(PlanJson, EveryFieldOfAWrongTypeIsAnError) {
  const Json whole = to_json(full_plan());
  const Json flat = whole.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (pointer.find("/vendor_data") == 0 || pointer.find("/config/") != std::string::npos ||
        pointer.find("/cluster/options") == 0)
      continue;  // free content
    Json broken = whole;
    broken[Json::json_pointer(pointer)] = Json::array({Json::object()});
    EXPECT_NE(error_of([&] { return plan_from_json(broken, "plan.json"); }), "no error") << pointer;
  }
}

// The rules stand there once.

Plan plan_of_three() {
  return testing::plan(
      "cases:\n"
      "  - {case: train:native:cpu:1:1:1, name: a, rules: {min-steps: off}}\n"
      "  - {case: train:native:cpu:1:1:1, name: b, rules: {min-steps: {min: 7}}}\n"
      "  - {case: train:native:cpu:1:1:1, name: c}\n");
}

TEST(PlanRules, StandOnceAndCasesHaveTheirDifferences) {
  const Json json = to_json(plan_of_three());
  EXPECT_EQ(json["rules"].size(), 2U);
  EXPECT_EQ(json["cases"][0]["rules"], Json({{"without", {"min-steps"}}}));
  const Plan back = plan_from_json(json, "plan.json");
  const Plan made = plan_of_three();
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(catalog::to_json(back.cases[i].rules), catalog::to_json(made.cases[i].rules)) << i;
}

TEST(PlanRules, RulesInAnotherOrderAreWrittenInFull) {
  Plan p = plan_of_three();
  std::ranges::reverse(p.cases[2].rules);
  const Json json = to_json(p);
  EXPECT_TRUE(json["cases"][2]["rules"].is_array());
  EXPECT_EQ(plan_from_json(json, "plan.json").cases[2].rules.at(0).id, "min-duration");
}

TEST(PlanRules, APlanOfSchema1HasThemInEveryCase) {
  const Plan p = plan_of_three();
  Json old = to_json(p);
  old["schema_version"] = 1;
  old.erase("rules");
  for (std::size_t i = 0; i < 3; ++i) old["cases"][i]["rules"] = catalog::to_json(p.cases[i].rules);
  const Plan back = plan_from_json(old, "plan.json");
  EXPECT_EQ(dump_line(to_json(back)), dump_line(to_json(p)));
}

TEST(PlanRules, WhatIsNotARuleOfThePlanIsAnError) {
  Json json = to_json(plan_of_three());
  json["cases"][2]["rules"]["without"] = {"min-stps"};
  EXPECT_THAT(error_of([&] { return plan_from_json(json, "plan.json"); }),
              HasSubstr("plan.json: case 3: rules: not a rule of the plan: \"min-stps\""));
  json["cases"][2]["rules"] = {{"off", {"min-steps"}}};
  EXPECT_THAT(error_of([&] { return plan_from_json(json, "plan.json"); }),
              HasSubstr("expected the lists 'changed' and 'without'"));
}

TEST(PlanJson, NotAnObjectAndOtherVersions) {
  EXPECT_THAT(error_of([] { return plan_from_json(Json::array(), "plan.json"); }),
              HasSubstr("plan.json: expected an object"));
  Json newer = to_json(full_plan());
  newer["schema_version"] = 99;
  EXPECT_THAT(error_of([&] { return plan_from_json(newer, "plan.json"); }),
              HasSubstr("schema_version is 99; this program reads 1 to 2"));
}

}  // namespace
}  // namespace assay::plan
