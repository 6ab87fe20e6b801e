// What the verdicts are worth, on runs whose truth is known. docs/compare.md has the numbers of
// ASSAY_SIMULATIONS=1000.
#include <cmath>
#include <cstdlib>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "build_runs.h"

namespace assay::compare {
namespace {

int trials(int by_default) {
  const char* wanted = std::getenv("ASSAY_SIMULATIONS");
  return wanted != nullptr ? std::atoi(wanted) : by_default;
}

struct Truth {
  int alarms = 0;  // comparisons of eight unchanged cases with a FASTER or SLOWER
  int found = 0;   // a change of three spreads in one of them
};

// `measured(level)` is a case with rounds around that level, whose spread is `spread`.
template <class Measured>
Truth simulate(int times, double spread, const Measured& measured) {
  Truth truth;
  Options strict;
  strict.tolerance = 0;  // any change counts
  for (int trial = 0; trial < times; ++trial) {
    std::vector<judge::CaseResult> base;
    std::vector<judge::CaseResult> same;
    for (int i = 0; i < 8; ++i) {
      base.push_back(measured(std::to_string(i), 100));
      same.push_back(measured(std::to_string(i), 100));
    }
    const Comparison unchanged = of(make_run(base), make_run(same), strict);
    truth.alarms += std::ranges::any_of(unchanged.cases, [](const CaseChange& change) {
      return change.metrics[0].verdict != Verdict::unsure;
    });
    const Comparison changed =
        of(make_run({base[0]}), make_run({measured("0", 100 * (1 - 3 * spread))}), strict);
    truth.found += changed.cases[0].metrics[0].verdict == Verdict::worse;
  }
  return truth;
}

void expect_good(const Truth& truth, int times, int rounds, int enough, const std::string& name) {
  // So few trials scatter: three standard deviations above 5 % are let through.
  EXPECT_LE(truth.alarms, 0.05 * times + 3 * std::sqrt(0.05 * 0.95 * times)) << name;
  if (rounds >= enough) {
    EXPECT_GE(truth.found, times * 19 / 20) << name;
  }
  ::testing::Test::RecordProperty("alarms_" + name, truth.alarms);
  ::testing::Test::RecordProperty("found_" + name, truth.found);
}

// A value a round; with stalls, one round in fifty is five spreads slower besides.
TEST(Simulated, FalseAlarmsAreRareAndAChangeOfThreeSpreadsIsFound) {
  const int times = trials(200);
  for (const bool stalls : {false, true})
    for (const int rounds : {3, 4, 5, 6, 8}) {
      std::mt19937_64 random(7);
      std::normal_distribution<double> noise(0, 0.01);
      std::uniform_real_distribution<double> chance(0, 1);
      const Truth truth =
          simulate(times, stalls ? 0.0122 : 0.01, [&](const std::string& name, double level) {
            std::vector<double> out;
            for (int i = 0; i < rounds; ++i)
              out.push_back(level * std::exp(noise(random)) *
                            (stalls && chance(random) < 0.02 ? 0.95 : 1));
            return make_case(name, out);
          });
      expect_good(truth, times, rounds, stalls ? 8 : 6,
                  std::to_string(rounds) + (stalls ? "_with_stalls" : ""));
    }
}

// Rounds of 60 steps that follow each other (AR(1)) by 3 % around a level that itself spreads from
// round to round; with `between` 0 the rounds differ by their steps alone.
TEST(Simulated, StepsThatDependOnEachOtherRaiseNoFalseAlarm) {
  constexpr int kSteps = 60;
  constexpr double kNoise = 0.03;
  const int times = trials(40);
  for (const double rho : {0.0, 0.5, 0.9})
    for (const double between : {0.0, 0.01})
      for (const int rounds : {3, 5, 8}) {
        std::mt19937_64 random(11);
        std::normal_distribution<double> normal(0, 1);
        // The variance of the mean of n values of a stationary AR(1).
        double within = 1;
        for (int lag = 1; lag < kSteps; ++lag)
          within += 2 * (1 - static_cast<double>(lag) / kSteps) * std::pow(rho, lag);
        within *= kNoise * kNoise / kSteps;
        const double spread = std::sqrt(between * between + within);
        const Truth truth = simulate(times, spread, [&](const std::string& name, double level) {
          std::vector<std::vector<double>> steps;
          std::vector<double> speeds;
          for (int round = 0; round < rounds; ++round) {
            const double seconds = std::exp(between * normal(random)) / level;
            double state = normal(random);
            double sum = 0;
            steps.emplace_back();
            for (int i = 0; i < kSteps; ++i) {
              steps.back().push_back(seconds * std::exp(kNoise * state));
              sum += steps.back().back();
              state = rho * state + std::sqrt(1 - rho * rho) * normal(random);
            }
            speeds.push_back(kSteps / sum);
          }
          judge::CaseResult result = make_case(name, speeds);
          for (int round = 0; round < rounds; ++round)
            set_steps(result.rounds[static_cast<std::size_t>(round)],
                      steps[static_cast<std::size_t>(round)]);
          return result;
        });
        expect_good(truth, times, rounds, 8,
                    fmt::format("{}_rho{:.0f}_between{:.0f}", rounds, rho * 10, between * 1000));
      }
}

}  // namespace
}  // namespace assay::compare
