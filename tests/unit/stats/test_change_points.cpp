#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stats/change_points.h"

namespace assay::stats {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Values around 100; in units of the spread.
class Noise {
 public:
  explicit Noise(double spread, double stalls = 0) : spread_(spread), stalls_(stalls) {}
  std::vector<double> values(std::size_t n) {
    std::vector<double> out;
    for (std::size_t i = 0; i < n; ++i) {
      double value = 100 + spread_ * normal_(random_);
      if (uniform_(random_) < stalls_) value -= 5 * spread_ * std::abs(normal_(random_));
      out.push_back(value);
    }
    return out;
  }

 private:
  double spread_;
  double stalls_;
  std::mt19937_64 random_{20260101};
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

std::vector<std::size_t> places(const std::vector<double>& values) {
  std::vector<std::size_t> out;
  for (const ChangePoint& change : find_changes(values)) out.push_back(change.at);
  return out;
}

TEST(ChangePoints, ASlowDownOfFivePercentIsFoundWhereItBegan) {
  std::vector<double> values = Noise(1).values(60);
  for (std::size_t i = 40; i < values.size(); ++i) values[i] *= 0.95;
  const auto found = find_changes(values);
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].at, 40);
  EXPECT_NEAR(found[0].change(), -0.05, 0.01);
}

TEST(ChangePoints, ASlowDownOfTheLastFourOfAThousandIsFound) {
  std::vector<double> values = Noise(1).values(1000);
  for (std::size_t i = 996; i < values.size(); ++i) values[i] *= 0.95;
  EXPECT_THAT(places(values), ElementsAre(996));
}

TEST(ChangePoints, ADipAndItsEndAreTwoChanges) {
  std::vector<double> values = Noise(0.5).values(90);
  for (std::size_t i = 40; i < 55; ++i) values[i] -= 6;
  EXPECT_THAT(places(values), ElementsAre(40, 55));
}

TEST(ChangePoints, LevelsThatRiseStepByStepAreAllFound) {
  std::vector<double> values = Noise(0.5).values(120);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += 4.0 * static_cast<double>(i / 30);
  EXPECT_THAT(places(values), ElementsAre(30, 60, 90));
}

TEST(ChangePoints, OneOutlierIsNoChange) {
  std::vector<double> values = Noise(1).values(40);
  values[20] = 10;
  values[33] = 300;
  EXPECT_THAT(places(values), IsEmpty());
}

TEST(ChangePoints, AChangeThatIsTooSmallToMatterIsNotMarked) {
  std::vector<double> values = Noise(0.01).values(100);
  for (std::size_t i = 50; i < values.size(); ++i) values[i] *= 1.005;
  EXPECT_THAT(places(values), IsEmpty());
  EXPECT_EQ(find_changes(values, {.least_change = 0.001}).size(), 1);
}

TEST(ChangePoints, EqualValuesAndTwoLevelsWithoutNoiseAreUnderstood) {
  EXPECT_THAT(places(std::vector<double>(50, 7.0)), IsEmpty());
  std::vector<double> steps(20, 10.0);
  std::fill(steps.begin() + 12, steps.end(), 9.0);
  EXPECT_THAT(places(steps), ElementsAre(12));
}

TEST(ChangePoints, TooFewOrOddValuesHaveNone) {
  EXPECT_THAT(places({}), IsEmpty());
  EXPECT_THAT(places({1, 1, 1, 9, 9, 9}), IsEmpty());
  EXPECT_THAT(places({1, 1, 1, 1, NAN, 9, 9, 9, 9}), IsEmpty());
  EXPECT_THAT(places({1, 1, 1, 1, INFINITY, 9, 9, 9, 9}), IsEmpty());
  std::vector<double> zeros(20, 0.0);
  std::fill(zeros.begin() + 10, zeros.end(), 1.0);
  EXPECT_THAT(places(zeros), ElementsAre(10));
}

// The truth is known. More of them for the table of docs/history.md: ASSAY_SIMULATIONS=1000
// test_stats --gtest_filter='Simulated*'.
class SimulatedChangePoints : public ::testing::TestWithParam<std::pair<std::size_t, double>> {};

TEST_P(SimulatedChangePoints, FalseMarksAreNoMoreThanStatedAndSlowDownsAreFound) {
  const auto [n, stalls] = GetParam();
  const char* asked = std::getenv("ASSAY_SIMULATIONS");
  const int count = asked == nullptr ? 200 : std::atoi(asked);
  Noise noise(1, stalls);
  int false_marks = 0;
  int found = 0;
  for (int i = 0; i < count; ++i) {
    false_marks += places(noise.values(n)).empty() ? 0 : 1;
    std::vector<double> slower = noise.values(n);
    for (std::size_t k = n / 2; k < n; ++k) slower[k] -= 5;
    for (const std::size_t at : places(slower))
      if (at + 2 >= n / 2 && at <= n / 2 + 2) {
        ++found;
        break;
      }
  }
  RecordProperty("false_percent", std::to_string(100.0 * false_marks / count));
  RecordProperty("found_percent", std::to_string(100.0 * found / count));
  // The stated 1 % with three standard deviations of the count.
  EXPECT_LE(false_marks, 0.01 * count + 3 * std::sqrt(0.01 * count));
  EXPECT_GE(found, (n < 20 ? 0.6 : 0.9) * count);
}

INSTANTIATE_TEST_SUITE_P(Simulated, SimulatedChangePoints,
                         ::testing::Values(std::pair(10, 0.0), std::pair(20, 0.0),
                                           std::pair(60, 0.0), std::pair(200, 0.0),
                                           std::pair(20, 0.05), std::pair(60, 0.05),
                                           std::pair(200, 0.05)));

}  // namespace
}  // namespace assay::stats
