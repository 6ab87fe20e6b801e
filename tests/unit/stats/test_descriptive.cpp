#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stats/descriptive.h"

namespace assay::stats {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Values = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Type 7 straight from its definition, over sorted values.
double reference_percentile(Values v, double p) {
  std::sort(v.begin(), v.end());
  const double h = (static_cast<double>(v.size()) - 1) * p / 100;
  const auto low = static_cast<std::size_t>(std::floor(h));
  const auto high = static_cast<std::size_t>(std::ceil(h));
  return v[low] + (h - std::floor(h)) * (v[high] - v[low]);
}

TEST(Percentile, InterpolatesBetweenOrderStatistics) {
  const Values v{40, 10, 30, 20};
  EXPECT_DOUBLE_EQ(*percentile(v, 0), 10);
  EXPECT_DOUBLE_EQ(*percentile(v, 25), 17.5);
  EXPECT_DOUBLE_EQ(*percentile(v, 50), 25);
  EXPECT_DOUBLE_EQ(*percentile(v, 90), 37);
  EXPECT_DOUBLE_EQ(*percentile(v, 100), 40);
}

TEST(Percentile, AgreesWithTheDefinitionOnRandomValues) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> draw(0, 2);
  for (std::size_t n = 1; n < 60; ++n) {
    Values v(n);
    for (double& x : v) x = draw(random);
    const Values ps{0, 1, 10, 33.3, 50, 90, 99, 99.9, 100};
    const Values together = percentiles(v, ps);
    ASSERT_EQ(together.size(), ps.size());
    for (std::size_t i = 0; i < ps.size(); ++i) {
      EXPECT_NEAR(*percentile(v, ps[i]), reference_percentile(v, ps[i]), 1e-12 * v[0] + 1e-12);
      EXPECT_DOUBLE_EQ(together[i], *percentile(v, ps[i]));
    }
  }
}

TEST(Percentile, GivesNothingWithoutValuesOrForAWrongQuestion) {
  EXPECT_FALSE(percentile({}, 50));
  EXPECT_FALSE(percentile(Values{1}, -1));
  EXPECT_FALSE(percentile(Values{1}, 100.1));
  EXPECT_FALSE(percentile(Values{1}, kNan));
  EXPECT_FALSE(percentile(Values{1, kNan, 2}, 50));
  EXPECT_THAT(percentiles({}, Values{50}), IsEmpty());
  EXPECT_THAT(percentiles({1, kInf}, Values{50}), IsEmpty());
}

TEST(Mean, OfALongSeriesLosesNoDigits) {
  const Values v(10'000'000, 0.1);
  EXPECT_DOUBLE_EQ(*mean(v), 0.1);
}

TEST(Mean, IsAbsentRatherThanInfinite) {
  EXPECT_FALSE(mean({}));
  EXPECT_FALSE(mean(Values{1, kNan}));
  EXPECT_FALSE(mean(Values{kInf, 1}));
}

TEST(Stddev, DividesByOneLessThanN) {
  EXPECT_DOUBLE_EQ(*stddev(Values{2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32.0 / 7));
  EXPECT_DOUBLE_EQ(*stddev(Values{5, 5, 5}), 0);
  EXPECT_FALSE(stddev(Values{5}));
}

TEST(Cv, IsRelativeToTheSizeOfTheMean) {
  EXPECT_DOUBLE_EQ(*cv(Values{9, 11}), std::sqrt(2.0) / 10);
  EXPECT_DOUBLE_EQ(*cv(Values{-9, -11}), std::sqrt(2.0) / 10);
  EXPECT_FALSE(cv(Values{-1, 1}));
  EXPECT_FALSE(cv(Values{3}));
}

TEST(OlympicMean, LeavesOutOneBestAndOneWorst) {
  EXPECT_DOUBLE_EQ(*olympic_mean(Values{100, 2, 4, 0}), 3);
  EXPECT_DOUBLE_EQ(*olympic_mean(Values{7, 7, 7}), 7);
  EXPECT_DOUBLE_EQ(*olympic_mean(Values{1, 1, 5, 5}), 3);
  EXPECT_FALSE(olympic_mean(Values{1, 2}));
}

}  // namespace
}  // namespace assay::stats
