#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/sweep.h"
#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::plan;

std::vector<std::string> names(const Plan& plan) {
  std::vector<std::string> out;
  for (const CasePlan& c : plan.cases) out.push_back(c.name);
  return out;
}

Plan sweep(const std::string& body, std::vector<std::string> set = {}) {
  return plan("cases:\n  - {name: s, model: train, " + body + "}\n", std::move(set));
}

std::string sweep_error(const std::string& body) {
  return error_of([&] { return sweep(body); });
}

TEST(Sweep, AListOfValuesForAScalarConfigKeyMakesOneCaseEach) {
  const Plan p = sweep("config: {batch: [32, 64]}");
  EXPECT_THAT(names(p), ElementsAre("s@batch=32", "s@batch=64"));
  EXPECT_EQ(p.cases[0].config["batch"], 32);
  EXPECT_EQ(p.cases[1].config["batch"], 64);
  EXPECT_EQ(p.cases[1].config_origin.at("batch"), "s.yaml:2");
}

TEST(Sweep, TheNameOfACaseWithoutAModelIsThatOfItsWorkload) {
  const Plan p = plan("cases: [{name: train, config: {batch: [1, 2]}}]");
  EXPECT_THAT(names(p), ElementsAre("train@batch=1", "train@batch=2"));
  EXPECT_EQ(p.cases[1].model, "train");
}

TEST(Sweep, AConfigKeyWhoseDefaultIsAListKeepsItsList) {
  const Plan p = sweep("config: {layers: [3, 4]}");
  EXPECT_THAT(names(p), ElementsAre("s"));
  EXPECT_EQ(p.cases[0].config["layers"], Json({3, 4}));
}

TEST(Sweep, ListsAreValuesOfASweepWhereItSaysSo) {
  const Plan p = sweep("sweep: {config.layers: [[1], [1, 2]]}");
  ASSERT_EQ(p.cases.size(), 2U);
  EXPECT_EQ(p.cases[0].config["layers"], Json::array({1}));
  EXPECT_EQ(p.cases[1].config["layers"], Json({1, 2}));
}

TEST(Sweep, AListInTheConfigOfAnOwnCommandIsAValue) {
  const Plan p = plan("cases: [{name: c, command: 'x {config}', config: {sizes: [1, 2]}}]");
  EXPECT_THAT(names(p), ElementsAre("c"));
  EXPECT_EQ(p.cases[0].config["sizes"], Json({1, 2}));
  const Plan swept = plan("cases: [{name: c, command: 'x {config}', sweep: {config.n: [1, 2]}}]");
  EXPECT_THAT(names(swept), ElementsAre("c@n=1", "c@n=2"));
}

TEST(Sweep, VariablesProcessesAndNodesCanBeSwept) {
  const Plan p = plan(
      "cluster: {hosts: [a, b, c]}\ncases:\n"
      "  - {name: s, model: train, env: {T: [1, 2]}, procs: [1, 2], nodes: [1, 3]}\n");
  EXPECT_EQ(p.cases.size(), 8U);
  EXPECT_EQ(p.cases[0].name, "s@T=1,procs=1,nodes=1");
  EXPECT_EQ(p.cases[7].env.at("T"), "2");
  EXPECT_EQ(p.cases[7].procs, 2);
  EXPECT_EQ(p.cases[7].nodes, 3);
}

TEST(Sweep, TheLastAxisChangesFastest) {
  EXPECT_THAT(names(sweep("sweep: {config.batch: [1, 2], procs: [1, 2]}")),
              ElementsAre("s@batch=1,procs=1", "s@batch=1,procs=2", "s@batch=2,procs=1",
                          "s@batch=2,procs=2"));
}

TEST(Sweep, ACaseKeyGivesWhatDoesNotVary) {
  const Plan p = plan("cases: [{case: 'train:native:cpu:1:2:3', sweep: {procs: [1, 4]}}]");
  EXPECT_THAT(names(p), ElementsAre("train@procs=1", "train@procs=4"));
  EXPECT_EQ(p.cases[1].procs, 4);
  EXPECT_EQ(p.cases[1].repeats, 3);
  EXPECT_EQ(p.cases[1].hardware, "cpu");
}

TEST(Sweep, ConstraintsLeaveOutPoints) {
  const Plan p = sweep(
      "sweep: {config.batch: [32, 64, 128], procs: [1, 2], where: batch * procs <= 128, exclude: "
      "{batch: 32, procs: 1}}");
  EXPECT_THAT(names(p), ElementsAre("s@batch=32,procs=2", "s@batch=64,procs=1",
                                    "s@batch=64,procs=2", "s@batch=128,procs=1"));
  EXPECT_EQ(p.sweeps.at(0).excluded, 2);
}

TEST(Sweep, ConditionsHaveTheUsualPrecedence) {
  EXPECT_THAT(names(sweep("config: {batch: [1, 2, 3, 4]}, sweep: {where: '2 * (batch + 1) - 4 / 2 "
                          "> -1 + 5'}")),
              ElementsAre("s@batch=3", "s@batch=4"));
  EXPECT_THAT(names(sweep("config: {lr: [1e-4, 0.5]}, sweep: {where: lr < 1e-1}")),
              ElementsAre("s@lr=1e-4"));
}

TEST(Sweep, AConstraintMayNameWhatIsTheSameEverywhere) {
  EXPECT_THAT(names(sweep("procs: 2, config: {batch: [1, 2]}, sweep: {where: batch * procs > 2}")),
              ElementsAre("s@batch=2"));
}

TEST(Sweep, ExcludeMayListAlternativesAndText) {
  EXPECT_THAT(names(sweep("sweep: {config.precision: [fp16, bf16], config.batch: [1, 2, 3], "
                          "exclude: [{precision: bf16, batch: [1, 3]}]}")),
              ElementsAre("s@precision=fp16,batch=1", "s@precision=fp16,batch=2",
                          "s@precision=fp16,batch=3", "s@precision=bf16,batch=2"));
}

TEST(Sweep, WhatIsWrongIsSaidWithItsPlace) {
  EXPECT_THAT(sweep_error("config: {batch: []}"), AllOf(HasSubstr("s.yaml:2"), HasSubstr("empty")));
  EXPECT_THAT(sweep_error("config: {batch: [1, 1]}"), HasSubstr("listed twice"));
  EXPECT_THAT(sweep_error("procs: [1, 0]"), HasSubstr("s.yaml:2"));
  EXPECT_THAT(sweep_error("config: {batch: [1, x]}"), HasSubstr("s.yaml:2"));
  EXPECT_THAT(sweep_error("sweep: {procz: [1]}"), HasSubstr("did you mean 'procs'"));
  EXPECT_THAT(sweep_error("sweep: {repeats: [1, 2]}"), HasSubstr("cannot be swept"));
  EXPECT_THAT(sweep_error("sweep: {config: [1]}"), HasSubstr("name the key"));
  EXPECT_THAT(sweep_error("sweep: {procs: 2}"), HasSubstr("expected a list"));
  EXPECT_THAT(sweep_error("sweep: {where: procs > 1}"), HasSubstr("no axis"));
  EXPECT_THAT(sweep_error("procs: 1, sweep: {procs: [1, 2]}"), HasSubstr("in 'sweep' already"));
  EXPECT_THAT(sweep_error("procs: [1, 2], sweep: {where: bach > 1}"),
              HasSubstr("no axis of the sweep is named 'bach'"));
  EXPECT_THAT(sweep_error("procs: [1, 2], sweep: {where: procs}"),
              HasSubstr("a comparison is missing"));
  EXPECT_THAT(sweep_error("procs: [1, 2], sweep: {where: procs / 0 > 1}"),
              HasSubstr("divides by zero"));
  EXPECT_THAT(sweep_error("procs: [1, 2], sweep: {where: procs > 5}"),
              HasSubstr("no point is left"));
  EXPECT_THAT(sweep_error("procs: [1, 2], sweep: {exclude: {}}"), HasSubstr("every point"));
  EXPECT_THAT(sweep_error("procs: [1, 2], sweep: {exclude: {procs: 3}}"),
              HasSubstr("it leaves out nothing"));
  EXPECT_THAT(sweep_error("procs: [1, 2], sweep: {where: '" + std::string(200, '(') + "'}"),
              HasSubstr("nested too deep"));
}

TEST(Sweep, AGridThatIsTooLargeIsRefused) {
  std::string values;
  for (int i = 1; i <= 40; ++i) values += (i == 1 ? "" : ", ") + std::to_string(i);
  const std::string two = "config: {batch: [" + values + "]}, procs: [" + values + "]";
  EXPECT_THAT(sweep_error(two), AllOf(HasSubstr("more than 1000 points"), HasSubstr("1600")));
  EXPECT_EQ(sweep(two + ", sweep: {where: batch + procs <= 40}").cases.size(), 780U);
  EXPECT_THAT(sweep_error(two + ", nodes: [" + values + "], env: {A: [" + values + "]}"),
              HasSubstr("more than 100000 points"));
}

TEST(Sweep, SetReplacesAnAxisByAValueOrByOthers) {
  const std::string both = "config: {batch: [1, 2]}, sweep: {procs: [1, 2]}";
  EXPECT_THAT(names(sweep(both, {"config.batch=7"})), ElementsAre("s@procs=1", "s@procs=2"));
  EXPECT_THAT(names(sweep(both, {"procs=2"})), ElementsAre("s@batch=1", "s@batch=2"));
  EXPECT_THAT(names(sweep(both, {"procs=2", "config.batch=7"})), ElementsAre("s"));
  EXPECT_THAT(names(sweep(both, {"config.batch=[8]", "cases.s.sweep.procs=[3]"})),
              ElementsAre("s@batch=8,procs=3"));
  EXPECT_THAT(names(sweep("procs: 1", {"procs=[1, 2]"})), ElementsAre("s@procs=1", "s@procs=2"));
}

TEST(Sweep, ConstraintsHoldForAnAxisThatSetReplaced) {
  EXPECT_THAT(names(sweep("sweep: {config.batch: [1, 2], procs: [1, 2], where: batch > procs}",
                          {"config.batch=2"})),
              ElementsAre("s@procs=1"));
}

TEST(Sweep, OnlySelectsPointsOrTheWhole) {
  const std::string yaml =
      "cases:\n  - {name: s, model: train, config: {batch: [1, 2]}, procs: [1, 2]}\n"
      "  - {name: other, model: train}\n";
  const auto only = [&](const std::string& pattern) {
    PlanOptions options;
    options.only = {pattern};
    return names(make_plan(testing::suite(yaml), testing::small_catalog(), options));
  };
  EXPECT_EQ(only("s").size(), 4U);
  EXPECT_THAT(only("s@batch=2*"), ElementsAre("s@batch=2,procs=1", "s@batch=2,procs=2"));
  EXPECT_THAT(only("s@batch=2,procs=1"), ElementsAre("s@batch=2,procs=1"));
  EXPECT_THAT(only("other"), ElementsAre("other"));
  EXPECT_THAT(error_of([&] { return only("x"); }), HasSubstr("cases: s, other"));
}

TEST(Sweep, APointsNameDoesNotDependOnTheOthers) {
  EXPECT_EQ(sweep("config: {batch: [2]}").cases[0].name, "s@batch=2");
  EXPECT_EQ(sweep("config: {batch: [1, 2]}").cases[1].name, "s@batch=2");
}

TEST(Sweep, ValuesThatNoNameCanHoldGetAHash) {
  EXPECT_EQ(point_value_text(testing::node("bf16")), "bf16");
  EXPECT_THAT(point_value_text(testing::node("/data/a")), ::testing::StartsWith("_data_a~"));
  EXPECT_NE(point_value_text(testing::node("/data/a")), point_value_text(testing::node("_data_a")));
  const std::string one(100, 'x');
  EXPECT_NE(point_value_text(testing::node(one + "1")), point_value_text(testing::node(one + "2")));
  EXPECT_LT(point_value_text(testing::node(one)).size(), 60U);
}

TEST(Sweep, AxesOfTheSameNameAreToldApart) {
  EXPECT_THAT(names(sweep("config: {batch: [1]}, env: {batch: [2]}")),
              ElementsAre("s@config.batch=1,env.batch=2"));
}

TEST(Sweep, TwoOfTheSameNameAreAnError) {
  EXPECT_THAT(error_of([] {
                return plan(
                    "cases:\n  - {model: train, config: {batch: [1, 2]}}\n"
                    "  - {model: train, config: {lr: [1, 2]}, procs: 2}\n");
              }),
              AllOf(HasSubstr("the sweep 'train' exists twice"), HasSubstr("s.yaml:2")));
}

TEST(Sweep, ThePlanKnowsTheGridAndThePlaceOfEachPoint) {
  const Plan p = sweep("config: {batch: [1, 2]}, sweep: {procs: [1, 2], where: batch + procs < 4}");
  const Json json = to_json(p);
  const Plan back = plan_from_json(json, "plan.json");
  EXPECT_EQ(to_json(back), json);
  ASSERT_EQ(back.sweeps.size(), 1U);
  EXPECT_EQ(back.sweeps[0].dimensions[0].key, "config.batch");
  EXPECT_EQ(back.sweeps[0].excluded, 1);
  EXPECT_EQ(back.cases[1].sweep->sweep, "s");
  EXPECT_EQ(back.cases[1].sweep->values, (std::vector<Json>{1, 2}));
  EXPECT_THAT(render_text(p), HasSubstr("s: config.batch 1, 2 × procs 1, 2; 3 of 4 points, 1 left "
                                        "out by its constraints  # s.yaml:2"));
}

TEST(Sweep, AllDevicesCanBeAValue) {
  PlanOptions options;
  options.find_devices = [](const std::string&, bool) {
    return Devices{"acme", "X1", "Acme X1", 8, "", {"fp16"}};
  };
  const Plan p = make_plan(
      testing::suite("vendor: acme\ncases: [{name: s, model: train, procs: [1, devices]}]"),
      testing::small_catalog(), options);
  EXPECT_THAT(names(p), ElementsAre("s@procs=1", "s@procs=devices"));
  EXPECT_EQ(p.cases[1].procs, 8);
  EXPECT_TRUE(p.cases[1].sweep);
  EXPECT_EQ(p.sweeps.size(), 1U);
}

}  // namespace
}  // namespace assay::plan
