#include <cstdlib>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/comparison.h"
#include "compare/render.h"
#include "error_of.h"

namespace assay::compare {
namespace {

using assay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const MetricInfo kSpeed{"steady_throughput", "samples/s", Better::higher, ""};

judge::CaseResult make_case(const std::string& name, const std::vector<double>& speeds,
                            const MetricInfo& info = kSpeed) {
  judge::CaseResult result;
  result.name = name;
  result.model = name;
  result.validity = judge::Validity::valid;
  result.headline = info.name;
  judge::Summary summary;
  summary.info = info;
  result.summary.push_back(summary);
  for (const double speed : speeds) {
    judge::RoundResult round;
    round.status = RoundStatus::completed;
    judge::Metric metric;
    metric.info = info;
    metric.value = speed;
    round.metrics.push_back(metric);
    result.rounds.push_back(round);
  }
  return result;
}

judge::RunResult make_run(std::vector<judge::CaseResult> cases) {
  judge::RunResult run;
  run.run_id = "run";
  run.cases = std::move(cases);
  return run;
}

Comparison of(const judge::RunResult& base, const judge::RunResult& candidate,
              const Options& options = {}) {
  return compare_runs(std::span(&base, 1), std::span(&candidate, 1), options);
}

MetricChange headline(const std::vector<double>& base, const std::vector<double>& candidate) {
  const Comparison found =
      of(make_run({make_case("a", base)}), make_run({make_case("a", candidate)}));
  return found.cases.at(0).metrics.at(0);
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
  const std::vector<judge::RunResult> now{make_run({make_case("a", {90, 91, 89, 90})})};
  const Comparison found = compare_runs(base, now, {});
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
  EXPECT_THAT(found.cases[0].warning, HasSubstr("not VALID"));
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

TEST(Bounds, AreReadAndCheckedAgainstCertainChanges) {
  const Comparison found = of(make_run({make_case("a", {100, 101, 99, 100.5, 99.5})}),
                              make_run({make_case("a", {95, 96, 94.5, 95.2, 94.8})}));
  const auto over = [&](const std::string& text) {
    const Bound bound = parse_bound(text);
    return exceeded(found, std::span(&bound, 1));
  };
  EXPECT_THAT(over("throughput: 2 %"), ElementsAre(HasSubstr("worse by 4.9 %")));
  EXPECT_THAT(over("headline:2%"), ElementsAre(HasSubstr("steady_throughput")));
  EXPECT_TRUE(over("throughput: 10 %").empty());
  EXPECT_THAT(over("energy_j: 1 %"), ElementsAre(HasSubstr("no case")));
  for (const char* wrong :
       {"", "throughput", "throughput: x %", "throughput: 2", ": 2 %", "a: -1 %"})
    EXPECT_THAT(error_of([&] { return parse_bound(wrong); }), HasSubstr("not a valid bound"));
}

TEST(Bounds, FailForACaseThatCannotBeCompared) {
  const Comparison found = of(make_run({make_case("a", {100, 101, 99})}), make_run({}));
  const Bound bound{"headline", 0.02};
  EXPECT_THAT(exceeded(found, std::span(&bound, 1)),
              ElementsAre(HasSubstr("only in the base"), HasSubstr("no case")));
}

TEST(Render, ShowsTextMarkdownAndJson) {
  const Comparison found = of(make_run({make_case("a|b", {100, 101, 99, 100.5, 99.5})}),
                              make_run({make_case("a|b", {95, 96, 94.5, 95.2, 94.8})}));
  EXPECT_THAT(render_text(found, {}), HasSubstr("SLOWER"));
  EXPECT_THAT(render_markdown(found), HasSubstr("a\\|b"));
  EXPECT_EQ(to_json(found)["cases"][0]["metrics"][0]["verdict"], "SLOWER");
}

TEST(Render, SaysADifferenceOfAllCasesOnce) {
  std::vector<judge::CaseResult> base{make_case("a", {100, 101, 99}), make_case("b", {1, 1, 1})};
  std::vector<judge::CaseResult> now = base;
  for (judge::CaseResult& result : now)
    result.configuration.push_back({"config.threads", 8, "", ""});
  const std::string text = render_text(of(make_run(base), make_run(now)), {});
  EXPECT_THAT(text, HasSubstr("all cases: config.threads: – → 8"));
  EXPECT_EQ(text.find("config.threads"), text.rfind("config.threads"));
}

// What the verdicts are worth, on runs whose truth is known: eight cases whose rounds spread by 1
// %, and one round in fifty is 5 % slower.
constexpr double kSpread = 0.0122;  // of both together

struct Truth {
  int alarms = 0;  // comparisons of eight unchanged cases with a FASTER or SLOWER
  int found = 0;   // a change of three spreads in one of them
};

Truth simulate(int trials, int rounds, bool stalls) {
  const double spread = stalls ? 0.0122 : 0.01;
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 0.01);
  std::uniform_real_distribution<double> chance(0, 1);
  const auto measured = [&](double level) {
    std::vector<double> out;
    for (int i = 0; i < rounds; ++i)
      out.push_back(level * std::exp(noise(random)) * (stalls && chance(random) < 0.02 ? 0.95 : 1));
    return out;
  };
  Truth truth;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<judge::CaseResult> base;
    std::vector<judge::CaseResult> same;
    for (int i = 0; i < 8; ++i) {
      base.push_back(make_case(std::to_string(i), measured(100)));
      same.push_back(make_case(std::to_string(i), measured(100)));
    }
    Options strict;
    strict.tolerance = 0;  // any change counts
    const Comparison unchanged = of(make_run(base), make_run(same), strict);
    truth.alarms += std::ranges::any_of(unchanged.cases, [](const CaseChange& change) {
      return change.metrics[0].verdict != Verdict::unsure;
    });
    const Comparison changed = of(
        make_run({base[0]}), make_run({make_case("0", measured(100 * (1 - 3 * spread)))}), strict);
    truth.found += changed.cases[0].metrics[0].verdict == Verdict::worse;
  }
  return truth;
}

// docs/compare.md has the numbers of ASSAY_SIMULATIONS=1000.
TEST(Simulated, FalseAlarmsAreRareAndAChangeOfThreeSpreadsIsFound) {
  const char* wanted = std::getenv("ASSAY_SIMULATIONS");
  const int trials = wanted != nullptr ? std::atoi(wanted) : 200;
  for (const bool stalls : {false, true})
    for (const int rounds : {3, 4, 5, 6, 8}) {
      const Truth truth = simulate(trials, rounds, stalls);
      EXPECT_LE(truth.alarms, trials / 20) << rounds;
      if (rounds >= (stalls ? 8 : 6)) {
        EXPECT_GE(truth.found, trials * 19 / 20) << rounds;
      }
      const std::string name = std::to_string(rounds) + (stalls ? "_with_stalls" : "");
      RecordProperty("alarms_" + name, truth.alarms);
      RecordProperty("found_" + name, truth.found);
    }
}

}  // namespace
}  // namespace assay::compare
