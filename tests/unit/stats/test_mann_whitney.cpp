#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "stats/mann_whitney.h"

namespace assay::stats {
namespace {

using Values = std::vector<double>;

double pairs_won(const Values& a, const Values& b) {
  double u = 0;
  for (const double x : a)
    for (const double y : b) u += x > y ? 1 : x == y ? 0.5 : 0;
  return u;
}

// Two-sided p by enumeration of every way to pick the first sample out of the ranks 1..n+m.
double enumerated_p(double u, unsigned n, unsigned m) {
  double total = 0;
  double low = 0;
  double high = 0;
  for (unsigned mask = 0; mask < 1U << (n + m); ++mask) {
    if (std::popcount(mask) != static_cast<int>(n)) continue;
    double sum = 0;
    for (unsigned i = 0; i < n + m; ++i)
      if ((mask >> i & 1U) != 0) sum += i + 1;
    const double value = sum - n * (n + 1) / 2.0;
    ++total;
    if (value <= u) ++low;
    if (value >= u) ++high;
  }
  return std::min(1.0, 2 * std::min(low, high) / total);
}

TEST(MannWhitney, OfThreeAgainstThreeFullySeparatedIsOneTenth) {
  const auto result = mann_whitney(Values{1, 2, 3}, Values{4, 5, 6});
  EXPECT_TRUE(result->exact);
  EXPECT_EQ(result->u, 0);
  EXPECT_NEAR(result->p_value, 0.1, 1e-12);
  EXPECT_EQ(result->superiority, 0);
}

TEST(MannWhitney, ExactAgreesWithEnumeration) {
  const Values a{3.1, 9.5, 4.4, 8.0};
  const Values b{1.0, 2.0, 3.5, 5.5, 7.0, 0.4};
  const auto result = mann_whitney(a, b);
  EXPECT_TRUE(result->exact);
  EXPECT_DOUBLE_EQ(result->u, pairs_won(a, b));
  EXPECT_NEAR(result->p_value, enumerated_p(result->u, 4, 6), 1e-12);
}

TEST(MannWhitney, IsSymmetric) {
  const Values a{1, 5, 9, 11};
  const Values b{2, 3, 4};
  EXPECT_DOUBLE_EQ(mann_whitney(a, b)->p_value, mann_whitney(b, a)->p_value);
  EXPECT_DOUBLE_EQ(mann_whitney(a, b)->u + mann_whitney(b, a)->u, 12);
}

TEST(MannWhitney, WithTiesUsesTheCorrectedNormalApproximation) {
  const Values a{1, 2, 2, 3, 4};
  const Values b{2, 4, 5, 5, 6};
  const auto result = mann_whitney(a, b);
  EXPECT_FALSE(result->exact);
  EXPECT_DOUBLE_EQ(result->u, pairs_won(a, b));
  // Ties: 2 three times (24), 4 twice (6), 5 twice (6) → variance 25/12·(11 − 36/90).
  const double z = (std::abs(result->u - 12.5) - 0.5) / std::sqrt(25.0 / 12 * (11 - 36.0 / 90));
  EXPECT_NEAR(result->p_value, std::erfc(z / std::sqrt(2.0)), 1e-12);
}

TEST(MannWhitney, OfEqualValuesShowsNoDifference) {
  const auto result = mann_whitney(Values{5, 5, 5}, Values{5, 5});
  EXPECT_EQ(result->p_value, 1);
  EXPECT_EQ(result->superiority, 0.5);
}

TEST(MannWhitney, LargeSamplesApproachTheExactResult) {
  Values a;
  Values b;
  for (int i = 0; i < 21; ++i) {
    a.push_back(i + 0.3);
    b.push_back(i + 4.1);
  }
  const auto large = mann_whitney(a, b);
  a.pop_back();
  b.pop_back();
  const auto small = mann_whitney(a, b);
  EXPECT_FALSE(large->exact);
  EXPECT_TRUE(small->exact);
  EXPECT_NEAR(large->p_value, small->p_value, 0.02);
}

TEST(MannWhitney, NeedsFiniteValuesOnBothSides) {
  EXPECT_FALSE(mann_whitney({}, Values{1}));
  EXPECT_FALSE(mann_whitney(Values{1}, {}));
  EXPECT_FALSE(mann_whitney(Values{std::numeric_limits<double>::quiet_NaN()}, Values{1}));
}

}  // namespace
}  // namespace assay::stats
