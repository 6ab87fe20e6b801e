#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stats/bootstrap.h"
#include "stats/descriptive.h"

namespace assay::stats {
namespace {

using Values = std::vector<double>;

// A series around 1 in which each value keeps `rho` of its predecessor's deviation.
Values autoregressive(double rho, int n, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, 1);
  Values out;
  double state = normal(random);
  for (int i = 0; i < n; ++i) {
    out.push_back(1 + 0.03 * state);
    state = rho * state + std::sqrt(1 - rho * rho) * normal(random);
  }
  return out;
}

double mean_of(const Values& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

struct Coverage {
  int held = 0;         // how often the 95 % interval of the mean holds the true one, 1
  int independent = 0;  // the same of an interval that takes the values for independent
};

Coverage coverage(double rho, int n, int trials) {
  std::mt19937_64 random(5);
  Coverage out;
  for (int trial = 0; trial < trials; ++trial) {
    const Values values = autoregressive(rho, n, random);
    Values errors = mean_errors(grouped(values, 128), 499, static_cast<std::uint64_t>(trial));
    std::ranges::sort(errors);
    const double mean = mean_of(values);
    out.held += mean * (1 + errors[12]) <= 1 && mean * (1 + errors[486]) >= 1;
    out.independent += std::abs(mean - 1) <= 1.96 * *stddev(values) / std::sqrt(n);
  }
  return out;
}

TEST(BlockLength, GrowsWithTheCorrelation) {
  std::mt19937_64 random(1);
  const double none = block_length(autoregressive(0, 400, random));
  const double some = block_length(autoregressive(0.5, 400, random));
  const double much = block_length(autoregressive(0.9, 400, random));
  EXPECT_NEAR(none, std::cbrt(400), 1) << "the least";
  EXPECT_GT(some, none);
  EXPECT_GT(much, 2 * some);
  EXPECT_LE(much, 60) << "3·√n";
}

// The formula for AR(1): (2·ρ/(1 - ρ²))^(2/3) · n^(1/3).
TEST(BlockLength, IsThatOfTheTheoryForALongSeries) {
  std::mt19937_64 random(2);
  const double rho = 0.7;
  const double best = std::cbrt(std::pow(2 * rho / (1 - rho * rho), 2) * 20000);
  EXPECT_NEAR(block_length(autoregressive(rho, 20000, random)) / best, 1, 0.2);
}

TEST(BlockLength, OfHardlyAnythingIsOne) {
  EXPECT_EQ(block_length(Values{}), 1);
  EXPECT_EQ(block_length(Values{1, 2, 3}), 1);
  EXPECT_EQ(block_length(Values(50, 4.0)), 1);
}

// docs/compare.md has the table of ASSAY_SIMULATIONS=1000.
TEST(MeanErrors, HoldTheTruthNearlyAsOftenAsTheySay) {
  const char* wanted = std::getenv("ASSAY_SIMULATIONS");
  const int trials = wanted != nullptr ? std::atoi(wanted) : 200;
  for (const int n : {20, 40, 100, 400, 2000})
    for (const double rho : {0.0, 0.5, 0.9}) {
      const Coverage found = coverage(rho, n, trials);
      const std::string name = std::to_string(n) + "_rho" + std::to_string(std::lround(10 * rho));
      RecordProperty("held_" + name, found.held);
      RecordProperty("independent_" + name, found.independent);
      if (rho == 0) {
        EXPECT_GE(found.held, 0.89 * trials) << name;
      } else {
        EXPECT_GT(found.held, 1.1 * found.independent) << name;
      }
      if (n >= 400) {
        EXPECT_GE(found.held, (rho > 0.5 ? 0.78 : 0.87) * trials) << name;
      }
    }
}

// What would be wrong to do: taking the steps of such a series for independent.
TEST(MeanErrors, AreLargerForStepsThatDependOnEachOther) {
  std::mt19937_64 random(3);
  Values values = autoregressive(0.9, 128, random);
  const auto width = [](const Values& of) {
    Values errors = mean_errors(of, 499, 1);
    std::ranges::sort(errors);
    return errors[486] - errors[12];
  };
  const double dependent = width(values);
  std::ranges::shuffle(values, random);
  EXPECT_GT(dependent, 2 * width(values));
}

TEST(MeanErrors, AreTheSameForTheSameSeed) {
  std::mt19937_64 random(4);
  const Values values = autoregressive(0.5, 50, random);
  EXPECT_EQ(mean_errors(values, 99, 7), mean_errors(values, 99, 7));
  EXPECT_NE(mean_errors(values, 99, 7), mean_errors(values, 99, 8));
}

TEST(MeanErrors, OfEqualStepsAreNone) {
  for (const double error : mean_errors(Values(30, 0.25), 99, 1)) EXPECT_NEAR(error, 0, 1e-12);
}

TEST(MeanErrors, OfWhatCannotBeResampledAreMissing) {
  EXPECT_TRUE(mean_errors(Values(kMinResampled - 1, 1.0), 99, 1).empty());
  Values values(20, 1.0);
  for (const double odd : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    values[3] = odd;
    EXPECT_TRUE(mean_errors(values, 99, 1).empty()) << odd;
  }
}

TEST(Grouped, KeepsTheMeanOfManyValues) {
  Values values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const Values groups = grouped(values, 125);
  ASSERT_EQ(groups.size(), 125);
  EXPECT_DOUBLE_EQ(groups[0], 3.5);
  EXPECT_DOUBLE_EQ(mean_of(groups), mean_of(values));
  EXPECT_EQ(grouped(Values{1, 2, 3}, 3), (Values{1, 2, 3}));
  EXPECT_TRUE(grouped(Values{}, 3).empty());
}

}  // namespace
}  // namespace assay::stats
