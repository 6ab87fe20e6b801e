#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/dependencies.h"
#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::plan;

std::vector<std::string> names_of(const Plan& plan) {
  std::vector<std::string> out;
  for (const CasePlan& c : plan.cases) out.push_back(c.name);
  return out;
}

std::string error_in(const std::string& yaml) {
  return error_of([&] { return plan(yaml); });
}

TEST(Dependencies, ACaseComesAfterThoseThatItDependsOn) {
  const Plan p = plan(
      "cases:\n  - {name: a, model: train, after: c}\n  - {name: b, model: train}\n"
      "  - {name: c, model: train, only_if: {case: b}}\n");
  EXPECT_THAT(names_of(p), ElementsAre("b", "c", "a"));
  EXPECT_THAT(p.cases[2].after, ElementsAre("c"));
}

TEST(Dependencies, TheOrderOfTheFileStaysOtherwise) {
  EXPECT_THAT(names_of(plan("cases:\n  - {name: a, model: train}\n  - {name: b, model: train, "
                            "after: [a]}\n  - {name: c, model: train}\n")),
              ElementsAre("a", "b", "c"));
}

TEST(Dependencies, ASweepStandsForAllOfItsPoints) {
  const Plan p = plan(
      "cases:\n  - {name: s, model: train, procs: [1, 2]}\n"
      "  - {name: b, model: train, after: s, only_if: {case: s}}\n");
  EXPECT_THAT(p.cases.back().after, ElementsAre("s@procs=1", "s@procs=2"));
  EXPECT_EQ(p.cases.back().only_if[0].of, "s");
}

TEST(Dependencies, UnknownNamesAndCirclesAreErrorsWithTheirPlace) {
  EXPECT_THAT(
      error_in(
          "cases:\n  - {name: first, model: train}\n  - {name: b, model: train, after: fist}\n"),
      AllOf(HasSubstr("s.yaml:3"), HasSubstr("did you mean 'first'")));
  EXPECT_THAT(error_in("cases:\n  - {name: a, model: train, after: a}\n"),
              AllOf(HasSubstr("s.yaml:2"), HasSubstr("a → a")));
  EXPECT_THAT(error_in("cases:\n  - {name: a, model: train, after: b}\n"
                       "  - {name: b, model: train, only_if: {case: a, verdict: INVALID}}\n"),
              AllOf(HasSubstr("s.yaml:3"), HasSubstr("in a circle: a → b → a")));
}

TEST(Dependencies, ALongChainIsRefusedAndNotFollowedTillTheStackEnds) {
  std::string yaml = "cases:\n  - {name: c0, model: train}\n";
  for (int i = 1; i < 3000; ++i)
    yaml += "  - {name: c" + std::to_string(i) + ", model: train, after: c" +
            std::to_string(i - 1) + "}\n";
  EXPECT_NO_THROW((void)plan(yaml)) << "in the order of the file every name is known already";
  std::string backwards = "cases:\n";
  for (int i = 0; i < 3000; ++i)
    backwards += "  - {name: c" + std::to_string(i) + ", model: train, after: c" +
                 std::to_string(i + 1) + "}\n";
  backwards += "  - {name: c3000, model: train}\n";
  EXPECT_THAT(error_in(backwards), HasSubstr("more than 1000 cases"));
}

TEST(Dependencies, OnlyTakesAlongWhatACaseDependsOn) {
  PlanOptions options;
  options.only = {"c"};
  const Plan p =
      make_plan(testing::suite("cases:\n  - {name: a, model: train}\n  - {name: b, model: train}\n"
                               "  - {name: c, model: train, after: a}\n"),
                testing::small_catalog(), options);
  EXPECT_THAT(names_of(p), ElementsAre("a", "c"));
}

TEST(OnlyIf, AsksForVALIDUnlessItSaysSomethingElse) {
  const Plan p = plan(
      "cases:\n  - {name: a, model: train}\n  - name: b\n    model: train\n    only_if:\n"
      "      - {case: a}\n      - {case: a, metric: p_whole, min: 10, max: 20}\n");
  EXPECT_EQ(p.cases[1].only_if[0].text(), "the verdict of 'a' is VALID");
  EXPECT_EQ(p.cases[1].only_if[1].text(), "p_whole of 'a' is ≥ 10 and ≤ 20");
}

TEST(OnlyIf, WhatIsWrongIsSaidWithItsPlace) {
  const auto error = [](const std::string& condition) {
    return error_in("cases:\n  - {name: a, model: train}\n  - {name: b, model: train, only_if: " +
                    condition + "}\n");
  };
  EXPECT_THAT(error("{verdict: VALID}"), HasSubstr("needs 'case'"));
  EXPECT_THAT(error("{case: a, verdict: GOOD}"), HasSubstr("s.yaml:3"));
  EXPECT_THAT(error("{case: a, metric: p_whole}"), HasSubstr("no bound"));
  EXPECT_THAT(error("{case: a, min: 1}"), HasSubstr("needs 'metric'"));
  EXPECT_THAT(error("{case: a, metric: p_whole, min: 2, max: 1}"), HasSubstr("above"));
  EXPECT_THAT(error("{case: a, metric: p_hole, min: 2}"),
              AllOf(HasSubstr("did you mean 'p_whole'"), HasSubstr("s.yaml:3")));
  EXPECT_THAT(error("{case: a, verdict: VALID, metric: p_whole, min: 1}"), HasSubstr("not both"));
  EXPECT_THAT(error("[]"), HasSubstr("empty"));
}

TEST(Hooks, AreCommandsWithPlaceTimeAndName) {
  const Plan p = plan(
      "hooks: {before: 'make data'}\n"
      "cases:\n  - name: a\n    model: train\n    hooks:\n"
      "      before: [/bin/true, /bin/true]\n"
      "      after: {name: clean, command: 'rm -r x', on: nodes, time: 5s, required: false}\n");
  ASSERT_EQ(p.hooks.size(), 1U);
  EXPECT_EQ(p.hooks[0].name, "make");
  EXPECT_THAT(p.hooks[0].command, ElementsAre("make", "data"));
  EXPECT_EQ(p.hooks[0].time, 10min);
  const std::vector<Hook>& own = p.cases[0].hooks;
  ASSERT_EQ(own.size(), 3U);
  EXPECT_EQ(own[0].name, "true");
  EXPECT_EQ(own[1].name, "true-2");
  EXPECT_EQ(own[2].on, HookPlace::nodes);
  EXPECT_EQ(own[2].when, HookTime::after);
  EXPECT_FALSE(own[2].required);
  EXPECT_EQ(own[2].time, 5s);
  EXPECT_EQ(hook_folder(own[2], "a"), "hook.after.clean.a");
  const Json json = to_json(p);
  EXPECT_EQ(to_json(plan_from_json(json, "x")), json);
  EXPECT_THAT(render_text(p), HasSubstr("clean (after, on the nodes, at most 5s, may fail)"));
}

TEST(Hooks, WhatIsWrongIsSaidWithItsPlace) {
  const auto error = [](const std::string& hooks) {
    return error_in("cases: [{name: a, model: train}]\nhooks: " + hooks + "\n");
  };
  EXPECT_THAT(error("{befor: x}"), AllOf(HasSubstr("s.yaml:2"), HasSubstr("before")));
  EXPECT_THAT(error("{before: {on: nodes}}"), HasSubstr("needs 'command'"));
  EXPECT_THAT(error("{before: {command: x, on: moon}}"), HasSubstr("s.yaml:2"));
  EXPECT_THAT(error("{before: {command: x, time: 0s}}"), HasSubstr("s.yaml:2"));
  EXPECT_THAT(error("{before: {command: x, name: a/b}}"), HasSubstr("name of a hook"));
  EXPECT_THAT(error("{before: 'a | b'}"), HasSubstr("only a shell"));
  EXPECT_THAT(error("{before: [{command: a, name: n}, {command: b, name: n}]}"),
              HasSubstr("two hooks"));
  EXPECT_THAT(error("{before: 'x {rank}'}"), HasSubstr("{rank}"));
  EXPECT_THAT(error_in("cases: [{name: hook.x, model: train}]"), HasSubstr("hook."));
}

TEST(Hooks, ANameInAPlanThatWouldLeadElsewhereIsRefused) {
  Json json = to_json(plan("cases: [{name: a, model: train}]\nhooks: {before: 'true'}\n"));
  json["hooks"][0]["name"] = "x/../../etc";
  EXPECT_THAT(error_of([&] { return plan_from_json(json, "plan.json"); }),
              HasSubstr("not the name of a hook"));
}

TEST(Hooks, PlaceholdersAreFilledWhereTheyAreKnown) {
  const Plan p = plan(
      "cases: [{name: a, model: train}]\n"
      "hooks: {before: ['{bindir}/x {{y}}', {command: 'x {host}', on: nodes}]}\n");
  EXPECT_THAT(p.hooks[0].command, ElementsAre("/opt/assay/bin/x", "{y}"));
  EXPECT_THAT(p.hooks[1].command, ElementsAre("x", "{host}"));
}

}  // namespace
}  // namespace assay::plan
