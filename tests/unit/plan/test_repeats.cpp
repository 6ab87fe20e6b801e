#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/repeats.h"
#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::plan;

CasePlan one_case(const std::string& settings, const std::string& defaults = "{}") {
  return plan("defaults: " + defaults + "\ncases: [{name: x, command: y, " + settings + "}]")
      .cases.at(0);
}

std::string repeats_error(const std::string& value) {
  return error_of([&] { return one_case("repeats: " + value); });
}

TEST(Repeats, UntilTheResultIsCertainHasLimitsOfItsOwn) {
  for (const char* form : {"until 2 %", "until 2%", "{until: 2 %}", "{until: 2%, max: 20}"}) {
    const CasePlan c = one_case(std::string("repeats: ") + form);
    ASSERT_TRUE(c.until) << form;
    EXPECT_DOUBLE_EQ(c.until->half_width, 0.02);
    EXPECT_EQ(c.until->min, 3);
    EXPECT_EQ(c.repeats, 20);
  }
  const CasePlan c = one_case("repeats: {until: 0.5 %, min: 25, max: 40}");
  EXPECT_DOUBLE_EQ(c.until->half_width, 0.005);
  EXPECT_EQ(c.until->min, 25);
  EXPECT_EQ(c.repeats, 40);
  EXPECT_EQ(one_case("repeats: {until: 1 %, min: 25}").repeats, 25);
}

TEST(Repeats, AreTakenFromTheDefaults) {
  EXPECT_TRUE(one_case("data: d", "{repeats: until 3 %, warmup_rounds: 2}").until);
  EXPECT_EQ(one_case("data: d", "{repeats: until 3 %, warmup_rounds: 2}").warmup_rounds, 2);
  EXPECT_FALSE(one_case("repeats: 4", "{repeats: until 3 %}").until);
  EXPECT_EQ(one_case("warmup_rounds: 0", "{warmup_rounds: 2}").warmup_rounds, 0);
}

TEST(Repeats, GivenOnTheCommandLineReplaceThem) {
  const std::string suite = "cases: [{name: x, command: y, repeats: until 2 %}]";
  PlanOptions options;
  options.repeat = 4;
  const Plan p = make_plan(testing::suite(suite), testing::small_catalog(), options);
  EXPECT_FALSE(p.cases.at(0).until);
  EXPECT_EQ(p.cases.at(0).repeats, 4);
  EXPECT_FALSE(plan(suite, {"repeats=5"}).cases.at(0).until);
  EXPECT_TRUE(plan("cases: [train:native:cpu:1:1:3]", {"repeats=until 1 %"}).cases.at(0).until);
  EXPECT_EQ(plan(suite, {"repeats={until: 2 %, max: 7}"}).cases.at(0).repeats, 7);
}

TEST(Repeats, ThatCannotBeAreRefused) {
  EXPECT_THAT(repeats_error("0"), HasSubstr("expected a whole number from 1 to 1000"));
  EXPECT_THAT(repeats_error("until 2"), HasSubstr("in percent"));
  EXPECT_THAT(repeats_error("until 0 %"), HasSubstr("from 0.001"));
  EXPECT_THAT(repeats_error("until nan %"), HasSubstr("from 0.001"));
  EXPECT_THAT(repeats_error("until 200 %"), HasSubstr("to 100 %"));
  EXPECT_THAT(repeats_error("until 0.0001 %"), HasSubstr("from 0.001 to 100 %"));
  EXPECT_THAT(repeats_error("until"), HasSubstr("until 2 %"));
  EXPECT_THAT(repeats_error("{max: 5}"), HasSubstr("needs 'until'"));
  EXPECT_THAT(repeats_error("{until: 2 %, min: 2}"), HasSubstr("from 3 to 1000"));
  EXPECT_THAT(repeats_error("{until: 2 %, min: 9, max: 8}"), HasSubstr("from 9 to 1000"));
  EXPECT_THAT(repeats_error("{until: 2 %, most: 8}"), HasSubstr("most"));
  EXPECT_THAT(error_of([] { return one_case("warmup_rounds: -1"); }), HasSubstr("from 0 to 100"));
}

TEST(Repeats, SurviveInThePlan) {
  const Plan p =
      plan("cases: [{name: x, command: y, warmup_rounds: 2, repeats: {until: 2 %, max: 7}}]");
  const CasePlan c = plan_from_json(to_json(p), "plan.json").cases.at(0);
  EXPECT_EQ(c.warmup_rounds, 2);
  EXPECT_EQ(c.repeats, 7);
  ASSERT_TRUE(c.until);
  EXPECT_DOUBLE_EQ(c.until->half_width, 0.02);
  EXPECT_THAT(c.origin.at("warmup_rounds"), HasSubstr("s.yaml:1"));
}

TEST(Rounds, AreNumberedThroughWithTheWarmUpFirst) {
  const CasePlan c = one_case("warmup_rounds: 2, repeats: 3");
  EXPECT_EQ(c.rounds(), 5);
  EXPECT_TRUE(c.is_warmup(2));
  EXPECT_FALSE(c.is_warmup(3));
  EXPECT_EQ(c.round_text(1), "warm-up round 1/2");
  EXPECT_EQ(c.round_text(3), "round 3/5");
  EXPECT_EQ(one_case("repeats: until 2 %").round_text(4), "round 4 of at most 20");
  EXPECT_EQ(rounds_text(c), "2 warm-up rounds and 3 rounds");
  EXPECT_EQ(rounds_text(one_case("repeats: until 2 %")),
            "3 to 20 rounds, until the mean is known to ± 2 %");
}

}  // namespace
}  // namespace assay::plan
