#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "stats/series.h"

namespace assay::stats {
namespace {

using Samples = std::vector<Sample>;

TEST(Integrate, OfALinearRampIsExactOverAnyWindow) {
  Samples ramp;
  for (int i = 0; i <= 10; ++i) ramp.push_back({static_cast<double>(i), 3.0 * i + 1});
  const auto closed = [](double a, double b) { return 1.5 * (b * b - a * a) + (b - a); };
  EXPECT_NEAR(*integrate(ramp, 0, 10), closed(0, 10), 1e-12);
  EXPECT_NEAR(*integrate(ramp, 0.25, 7.75), closed(0.25, 7.75), 1e-12);
  EXPECT_NEAR(*integrate(ramp, 3.1, 3.2), closed(3.1, 3.2), 1e-12);
}

TEST(Integrate, HoldsTheEdgeValuesOutsideTheSamples) {
  const Samples s{{2, 10}, {4, 20}};
  EXPECT_DOUBLE_EQ(*integrate(s, 0, 2), 20);
  EXPECT_DOUBLE_EQ(*integrate(s, 0, 6), 20 + 30 + 40);
  EXPECT_DOUBLE_EQ(*integrate(Samples{{3, 5}}, 0, 10), 50);
}

TEST(Integrate, OfAnEmptyWindowIsZeroAndOfNothingIsAbsent) {
  const Samples s{{0, 10}, {1, 20}};
  EXPECT_EQ(*integrate(s, 0.5, 0.5), 0);
  EXPECT_FALSE(integrate(s, 1, 0));
  EXPECT_FALSE(integrate({}, 0, 1));
  EXPECT_FALSE(integrate(s, 0, std::nan("")));
}

TEST(ValueAt, InterpolatesAndSurvivesRepeatedTimes) {
  const Samples s{{0, 0}, {1, 10}, {1, 30}, {2, 40}};
  EXPECT_DOUBLE_EQ(*value_at(s, 0.5), 5);
  EXPECT_DOUBLE_EQ(*value_at(s, 1), 30);
  EXPECT_DOUBLE_EQ(*value_at(s, 1.5), 35);
  EXPECT_DOUBLE_EQ(*value_at(s, -1), 0);
  EXPECT_DOUBLE_EQ(*value_at(s, 9), 40);
}

TEST(Covered, IsTheOverlapWithTheWindow) {
  const Samples s{{2, 0}, {4, 0}};
  EXPECT_EQ(covered(s, 0, 10), 2);
  EXPECT_EQ(covered(s, 3, 10), 1);
  EXPECT_EQ(covered(s, 5, 10), 0);
  EXPECT_EQ(covered({}, 0, 1), 0);
}

TEST(Thin, KeepsEndsOrderAndEverySpike) {
  Samples s;
  for (int i = 0; i < 10'000; ++i) s.push_back({static_cast<double>(i), std::sin(i * 0.01)});
  s[1234].value = 50;
  s[7777].value = -50;
  const Samples t = thin(s, 100);
  EXPECT_LE(t.size(), 100U);
  EXPECT_EQ(t.front().t, 0);
  EXPECT_EQ(t.back().t, 9999);
  EXPECT_TRUE(std::ranges::is_sorted(t, {}, &Sample::t));
  EXPECT_EQ(std::ranges::max_element(t, {}, &Sample::value)->t, 1234);
  EXPECT_EQ(std::ranges::min_element(t, {}, &Sample::value)->t, 7777);
}

TEST(Thin, LeavesAShortSeriesAsItIs) {
  const Samples s{{0, 1}, {1, 2}, {2, 3}};
  EXPECT_EQ(thin(s, 10).size(), 3U);
  EXPECT_TRUE(thin({}, 10).empty());
}

}  // namespace
}  // namespace assay::stats
