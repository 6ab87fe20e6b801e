#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "stats/two_samples.h"

namespace assay::stats {
namespace {

using Values = std::vector<double>;

TEST(LevelChange, IsTheRatioOfGeometricMeans) {
  const auto found = level_change(Values{1, 4}, Values{2, 8});
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->change, 1);  // from 2 to 4
}

// By numerical integration of Student's density, outside of this program.
TEST(LevelChange, HasWelchsIntervalAndPValue) {
  const Values a{100, 102, 99, 101, 103};
  const Values b{108, 107, 111, 109};
  const auto found = level_change(a, b);
  EXPECT_NEAR(found->change, 0.0767390, 1e-7);
  EXPECT_NEAR(found->interval->low, 0.0499716, 1e-6);
  EXPECT_NEAR(found->interval->high, 0.1041889, 1e-6);
  EXPECT_NEAR(found->p_value, 0.000274187, 1e-8);
  EXPECT_NEAR(*found->rank_p, 2.0 / 126, 1e-12);
  EXPECT_EQ(found->superiority, 1);
}

TEST(LevelChange, OfOneAgainstOneHasNoInterval) {
  const auto found = level_change(Values{10}, Values{11});
  EXPECT_NEAR(found->change, 0.1, 1e-12);
  EXPECT_FALSE(found->interval);
  EXPECT_EQ(found->p_value, 1);
}

TEST(LevelChange, OfOneAgainstManyTakesTheirSpread) {
  const auto found = level_change(Values{100, 101, 99, 100, 102}, Values{110});
  ASSERT_TRUE(found->interval);
  EXPECT_GT(found->interval->low, 0.05);
  EXPECT_LT(found->p_value, 0.01);
  EXPECT_FALSE(found->rank_p);
}

TEST(LevelChange, OfEqualValuesIsNoChange) {
  const auto found = level_change(Values{5, 5, 5}, Values{5, 5, 5});
  EXPECT_EQ(found->change, 0);
  EXPECT_EQ(found->interval->low, 0);
  EXPECT_EQ(found->interval->high, 0);
  EXPECT_EQ(found->p_value, 1);
}

TEST(LevelChange, OfValuesThatAreNotPositiveIsRelativeToTheFirstMean) {
  const auto found = level_change(Values{-2, -2}, Values{-1, -1});
  EXPECT_DOUBLE_EQ(found->change, 0.5);
  EXPECT_EQ(found->p_value, 0);
  EXPECT_FALSE(level_change(Values{-1, 1}, Values{1, 1}));
  EXPECT_FALSE(level_change(Values{}, Values{1}));
  EXPECT_FALSE(level_change(Values{std::numeric_limits<double>::quiet_NaN()}, Values{1}));
}

TEST(ValuesToDecide, GrowsWithTheSquareOfTheSpread) {
  const int few = values_to_decide(0.01, 0.02);
  const int many = values_to_decide(0.04, 0.02);
  EXPECT_LT(few, 6);
  EXPECT_NEAR(many, 2 * std::pow(1.97 * 0.04 / 0.02, 2), 4);
  EXPECT_EQ(values_to_decide(1, 1e-9, 50), 50);
}

TEST(Holm, MultipliesTheSmallestByTheNumberOfTests) {
  const std::vector<double> adjusted = holm(Values{0.04, 0.01, 0.5});
  EXPECT_DOUBLE_EQ(adjusted[1], 0.03);
  EXPECT_DOUBLE_EQ(adjusted[0], 0.08);
  EXPECT_DOUBLE_EQ(adjusted[2], 0.5);
}

}  // namespace
}  // namespace assay::stats
