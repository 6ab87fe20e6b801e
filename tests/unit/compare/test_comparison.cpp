#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "build_runs.h"

namespace assay::compare {
namespace {

using ::testing::HasSubstr;

// Two cases "a" whose rounds have these speeds and, all alike, these steps.
MetricChange with_steps(std::vector<double> base, std::vector<double> now,
                        const std::vector<double>& steps) {
  judge::CaseResult before = make_case("a", base);
  judge::CaseResult after = make_case("a", now);
  for (judge::CaseResult* result : {&before, &after})
    for (judge::RoundResult& round : result->rounds) set_steps(round, steps);
  return of(make_run({before}), make_run({after})).cases.at(0).metrics.at(0);
}

std::vector<double> alternating(double low, double high) {
  std::vector<double> out;
  for (int i = 0; i < 40; ++i) out.push_back(i / 5 % 2 == 0 ? low : high);
  return out;
}

TEST(Compare, FiveRoundsShowASlowdownOfFivePercent) {
  const MetricChange change = headline({100, 101, 99, 100.5, 99.5}, {95, 96, 94.5, 95.2, 94.8});
  EXPECT_EQ(verdict_word(change), "SLOWER");
  EXPECT_NEAR(change.level.change, -0.049, 0.002);
}

TEST(Compare, LowerIsBetterForTimes) {
  const MetricInfo time{"time_to_target", "s", Better::lower, ""};
  const Comparison found = of(make_run({make_case("a", {10, 10.1, 9.9, 10.05}, time)}),
                              make_run({make_case("a", {8, 8.1, 7.9, 8.05}, time)}));
  EXPECT_EQ(verdict_word(found.cases[0].metrics[0]), "FASTER");
}

TEST(Compare, AChangeWithinTheToleranceIsTheSame) {
  EXPECT_EQ(verdict_word(headline({100, 100.1, 99.9, 100}, {100.5, 100.6, 100.4, 100.5})), "SAME");
}

TEST(Compare, OneRoundOnEachSideIsUnsureAndSaysWhatWouldHelp) {
  const MetricChange change = headline({100}, {80});
  EXPECT_EQ(verdict_word(change), "UNSURE");
  EXPECT_THAT(change.note, HasSubstr("repeat the case"));
}

TEST(Compare, ASpreadThatHidesTheChangeIsUnsureAndSaysHowManyRoundsAreNeeded) {
  const MetricChange change = headline({100, 120, 90, 110}, {103, 95, 118, 99});
  EXPECT_EQ(verdict_word(change), "UNSURE");
  EXPECT_THAT(change.note, HasSubstr("rounds on each side"));
}

TEST(Compare, RoundsOfSeveralRunsCountTogether) {
  const std::vector<judge::RunResult> base{make_run({make_case("a", {100, 101})}),
                                           make_run({make_case("a", {99, 100})})};
  const Comparison found = side_of(base, {make_run({make_case("a", {90, 91, 89, 90})})});
  EXPECT_EQ(found.cases[0].metrics[0].base.size(), 4);
  EXPECT_EQ(found.cases[0].metrics[0].verdict, Verdict::worse);
}

TEST(Compare, CasesThatDifferOnlyInTheirRoundsAreTheSameCase) {
  judge::CaseResult three = make_case("m", {100, 101, 99});
  judge::CaseResult five = make_case("m", {100, 101, 99, 100, 100});
  for (judge::CaseResult* result : {&three, &five}) {
    result->framework = "native";
    result->hardware = "cpu";
    result->repeats = static_cast<int>(result->rounds.size());
    result->name = "m:native:cpu:1:1:" + std::to_string(result->repeats);
  }
  const Comparison found = of(make_run({three}), make_run({five}));
  ASSERT_EQ(found.cases.size(), 1);
  EXPECT_EQ(found.cases[0].refused, "");
}

TEST(Compare, WhatIsNotValidIsRefusedUnlessItIsAskedFor) {
  judge::CaseResult bad = make_case("a", {100, 101, 99});
  bad.validity = judge::Validity::invalid;
  const auto good = make_run({make_case("a", {100, 101, 99})});
  EXPECT_THAT(of(good, make_run({bad})).cases[0].refused, HasSubstr("INVALID"));
  Options too;
  too.invalid_too = true;
  const Comparison found = of(good, make_run({bad}), too);
  EXPECT_EQ(found.cases[0].refused, "");
  EXPECT_THAT(found.cases[0].warning, HasSubstr("is INVALID"));
}

TEST(Compare, OtherDataIsNotTheSameWork) {
  judge::CaseResult other = make_case("a", {100, 101, 99});
  other.configuration.push_back({"config.path", "/data/b", "", ""});
  judge::CaseResult base = make_case("a", {100, 101, 99});
  base.configuration.push_back({"config.path", "/data/a", "", ""});
  EXPECT_THAT(of(make_run({base}), make_run({other})).cases[0].refused, HasSubstr("config.path"));
}

TEST(Compare, AnotherBatchSizeIsSaid) {
  judge::CaseResult other = make_case("a", {100, 101, 99});
  other.configuration.push_back({"config.batch_size", 64, "", ""});
  judge::CaseResult base = make_case("a", {100, 101, 99});
  base.configuration.push_back({"config.batch_size", 32, "", ""});
  const Comparison found = of(make_run({base}), make_run({other}));
  EXPECT_EQ(found.cases[0].refused, "");
  ASSERT_EQ(found.cases[0].differences.size(), 1);
  EXPECT_EQ(found.cases[0].differences[0].candidate, "64");
}

TEST(Compare, CasesOnOneSideOnlyAreNamed) {
  const Comparison found =
      of(make_run({make_case("a", {1, 1})}), make_run({make_case("b", {1, 1})}));
  ASSERT_EQ(found.cases.size(), 2);
  EXPECT_EQ(found.cases[0].refused, "only in the base");
  EXPECT_EQ(found.cases[1].refused, "only in the new runs");
}

TEST(Compare, MachinesAreComparedWithoutWhatChangesByItself) {
  judge::RunResult base = make_run({});
  base.system = Json::parse(R"({"nodes": [{"kernel": "6.1", "uptime_s": 5, "load": [1, 2, 3]}]})");
  judge::RunResult now = base;
  now.system["nodes"][0]["kernel"] = "6.2";
  now.system["nodes"][0]["uptime_s"] = 7;
  const Comparison found = of(base, now);
  ASSERT_EQ(found.differences.size(), 1);
  EXPECT_EQ(found.differences[0].what, "nodes 0.kernel");
}

TEST(Compare, InterfacesAreToldApartByTheirNames) {
  judge::RunResult base = make_run({});
  base.system = Json::parse(R"({"nodes": [{"networks": [
    {"name": "eth0", "mtu": 1500}, {"name": "eth1", "mtu": 9000}]}]})");
  judge::RunResult now = base;
  now.system["nodes"][0]["networks"] = Json::parse(R"([
    {"name": "br0", "state": "up", "mtu": 1500}, {"name": "eth0", "mtu": 1500},
    {"name": "eth1", "mtu": 1500}])");
  const Comparison found = of(base, now);
  ASSERT_EQ(found.differences.size(), 2);
  EXPECT_EQ(found.differences[0].what, "nodes 0.networks eth1");
  EXPECT_EQ(found.differences[0].candidate, "mtu 1500");
  EXPECT_EQ(found.differences[1].what, "nodes 0.networks br0");
  EXPECT_EQ(found.differences[1].candidate, "state up, mtu 1500");
}

TEST(Compare, StepsThatSpreadTooMuchKeepAChangeOfFewRoundsUnsure) {
  const std::vector<double> base{100, 100.2, 99.8};
  const std::vector<double> slower{95, 95.1, 94.9};
  EXPECT_EQ(verdict_word(with_steps(base, slower, alternating(0.099, 0.101))), "SLOWER");
  const MetricChange change = with_steps(base, slower, alternating(0.07, 0.13));
  EXPECT_EQ(verdict_word(change), "UNSURE");
  EXPECT_THAT(change.note, HasSubstr("longer rounds"));
}

TEST(Compare, RoundsThatAgreeByLuckAreNotTheSameWhenTheirStepsSpread) {
  const std::vector<double> speeds{100, 100.1, 99.9};
  EXPECT_EQ(verdict_word(with_steps(speeds, speeds, alternating(0.0999, 0.1001))), "SAME");
  EXPECT_EQ(verdict_word(with_steps(speeds, speeds, alternating(0.07, 0.13))), "UNSURE");
}

TEST(Compare, OneRoundOnEachSideSaysWhatItsStepsShow) {
  const MetricChange change = with_steps({100}, {80}, alternating(0.099, 0.101));
  EXPECT_EQ(verdict_word(change), "UNSURE");
  EXPECT_THAT(change.note, HasSubstr("by their steps these rounds differ by -2"));
}

TEST(Compare, AChangeIsAlsoGivenInSpreads) {
  const MetricChange change = headline({100, 101, 99, 100.5, 99.5}, {95, 96, 94.5, 95.2, 94.8});
  ASSERT_TRUE(change.level.effect);
  EXPECT_LT(*change.level.effect, -5);
}

TEST(Compare, SeveralNewSidesAreCorrectedTogether) {
  const auto base = make_run({make_case("a", {100, 101, 99, 100})});
  const auto now = make_run({make_case("a", {98.2, 98.4, 97.4, 98})});
  const std::vector<Side> one{{"1", {now}}};
  const std::vector<Side> many(6, Side{"n", {now}});
  const Comparisons alone = compare_sides({"base", {base}}, one, {});
  const Comparisons together = compare_sides({"base", {base}}, many, {});
  ASSERT_EQ(together.sides.size(), 6);
  const double p = alone.sides[0].cases[0].metrics[0].adjusted_p;
  EXPECT_DOUBLE_EQ(together.sides[5].cases[0].metrics[0].adjusted_p, std::min(1.0, 6 * p));
}

TEST(Compare, OneRoundAgainstFiveTakesTheirSpread) {
  EXPECT_EQ(verdict_word(headline({100, 101, 99, 100.5, 99.5}, {80})), "SLOWER");
  EXPECT_EQ(verdict_word(headline({100, 101, 99, 100.5, 99.5}, {98})), "UNSURE");
}

TEST(Compare, OneRoundAgainstEqualOnesIsUnsure) {
  const MetricChange change = headline({100, 100, 100}, {90});
  EXPECT_EQ(verdict_word(change), "UNSURE");
  EXPECT_THAT(change.note, HasSubstr("shows no spread"));
}

TEST(Compare, EqualValuesAreTheSame) {
  EXPECT_EQ(verdict_word(headline({100, 100, 100}, {100, 100, 100})), "SAME");
}

TEST(Compare, AFewEqualValuesThatDifferFromOthersAreAChange) {
  EXPECT_EQ(verdict_word(headline({100, 100, 100, 100}, {90, 90, 90, 90})), "SLOWER");
}

TEST(Compare, OtherUnitsAreRefused) {
  const MetricInfo tokens{"steady_throughput", "tokens/s", Better::higher, ""};
  const Comparison found = of(make_run({make_case("a", {100, 101, 99})}),
                              make_run({make_case("a", {100, 101, 99}, tokens)}));
  EXPECT_EQ(found.cases[0].refused, "steady_throughput: the units differ: samples/s and tokens/s");
}

TEST(Compare, ValuesThatAreNotNumbersAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {nan, std::numeric_limits<double>::infinity()}) {
    const Comparison found = of(make_run({make_case("a", {100, 101, 99})}),
                                make_run({make_case("a", {100, value, 99})}));
    EXPECT_EQ(found.cases[0].refused, "steady_throughput: a value is not a number");
  }
}

TEST(Compare, ABaseOfZeroHasNoRelativeChange) {
  const Comparison found =
      of(make_run({make_case("a", {0, 0, 0})}), make_run({make_case("a", {1, 2, 3})}));
  EXPECT_THAT(found.cases[0].refused, HasSubstr("no relative change"));
}

TEST(Compare, RoundsThatDidNotCompleteDoNotCount) {
  judge::CaseResult base = make_case("a", {100, 101, 99, 5});
  base.rounds.back().status = RoundStatus::failed;
  const Comparison found = of(make_run({base}), make_run({make_case("a", {100, 101, 99})}));
  EXPECT_EQ(found.cases[0].metrics[0].base.size(), 3);
}

TEST(Compare, ARunThatAsAWholeIsNotValidIsRefusedThoughItsCasesAre) {
  judge::RunResult changed = make_run({make_case("a", {100, 101, 99})});
  judge::Finding finding;
  finding.rule = "run-sealed";
  finding.severity = judge::Severity::incomplete;
  finding.reason = "nothing shows whether the run was changed";
  changed.findings.push_back(finding);
  const auto good = make_run({make_case("a", {100, 101, 99})});
  EXPECT_EQ(
      of(good, changed).cases[0].refused,
      "the new one is of a run that is INCOMPLETE: nothing shows whether the run was changed");
  EXPECT_THAT(of(changed, good).cases[0].refused, HasSubstr("the base is of a run"));
  Options too;
  too.invalid_too = true;
  EXPECT_EQ(of(good, changed, too).cases[0].refused, "");
  EXPECT_THAT(of(good, changed, too).cases[0].warning, HasSubstr("INCOMPLETE"));
}

TEST(Compare, RunsOfOneSideMustHaveDoneTheSameWork) {
  judge::CaseResult small = make_case("a", {100, 101});
  small.configuration.push_back({"config.sequence", 128, "", ""});
  judge::CaseResult large = make_case("a", {50, 51});
  large.configuration.push_back({"config.sequence", 256, "", ""});
  const Comparison found =
      side_of({make_run({small}), make_run({large})}, {make_run({small}), make_run({small})});
  EXPECT_THAT(found.cases[0].refused, HasSubstr("runs of the base have not the same work"));
}

TEST(Compare, MachinesOfASideThatAreNotAlikeAreBothNamed) {
  judge::RunResult first = make_run({});
  first.system = Json::parse(R"({"nodes": [{"kernel": "6.1"}]})");
  judge::RunResult second = first;
  second.system["nodes"][0]["kernel"] = "6.2";
  const Comparison found = side_of({first, second}, {first});
  ASSERT_EQ(found.differences.size(), 1);
  EXPECT_EQ(found.differences[0].base, "6.1 or 6.2");
}

TEST(Comparison, RunsOfOneSideWithOtherUnitsOrDirectionsAreNotPutTogether) {
  const std::vector<double> speeds{100, 101, 99};
  const auto run = [&](const std::string& id, const MetricInfo& info) {
    judge::RunResult made = make_run({make_case("a", speeds, info)});
    made.run_id = id;
    return made;
  };
  MetricInfo in_ms = kSpeed;
  in_ms.unit = "ms";
  MetricInfo lower = kSpeed;
  lower.better = Better::lower;
  for (const MetricInfo& other : {in_ms, lower}) {
    const auto refused = [](const Comparison& found) { return found.cases.at(0).refused; };
    const std::string why = other.unit == "ms" ? "the units differ" : "better is";
    EXPECT_THAT(refused(side_of({run("1", kSpeed)}, {run("2", kSpeed), run("3", other)})),
                HasSubstr(why));
    EXPECT_THAT(refused(side_of({run("1", kSpeed), run("2", other)}, {run("3", kSpeed)})),
                HasSubstr(why));
  }
}

TEST(Comparison, ARunThatLacksTheHeadlineIsNotLeftOutInSilence) {
  judge::RunResult without =
      make_run({make_case("a", {1, 2, 3}, {"other", "s", Better::lower, ""})});
  without.run_id = "without";
  const judge::RunResult with = make_run({make_case("a", {100, 101, 99})});
  EXPECT_THAT(side_of({with}, {with, without}).cases.at(0).refused,
              HasSubstr("the run without does not have it"));
}

}  // namespace
}  // namespace assay::compare
