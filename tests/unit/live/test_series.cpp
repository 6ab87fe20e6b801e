#include <cmath>

#include <gtest/gtest.h>

#include "live/thinned_series.h"

namespace assay::live {
namespace {

TEST(ThinnedSeries, KeepsASpikeOfOnePointAmongAMillion) {
  ThinnedSeries series(1000);
  for (int i = 0; i < 1'000'000; ++i) series.add(1e9 + i, i == 777'777 ? 1000 : std::sin(i));
  const Stretch all = series.points({}, 200);
  EXPECT_LE(all.points.size(), 210U);
  const auto highest = std::ranges::max_element(all.points, {}, &Point::second);
  EXPECT_EQ(highest->second, 1000);
  EXPECT_EQ(highest->first, 1e9 + 777'777);
  EXPECT_TRUE(std::ranges::is_sorted(all.points, {}, &Point::first));
}

TEST(ThinnedSeries, AFollowerWhoReplacesTheLastStretchHasWhatThereIs) {
  ThinnedSeries series(64);
  std::vector<Point> mine;
  double newest = 0;
  for (int i = 0; i < 500; ++i) {
    series.add(1e9 + i, i);
    if (i % 7 != 0) continue;
    const Stretch more = series.points({.from = newest}, 1000);
    std::erase_if(mine, [&](const Point& point) { return point.first >= more.replaces_from; });
    mine.insert(mine.end(), more.points.begin(), more.points.end());
    newest = series.newest();
  }
  EXPECT_TRUE(std::ranges::is_sorted(mine, {}, &Point::first));
  EXPECT_EQ(mine.front().second, 0);
  EXPECT_EQ(mine.back().second, 497);
}

TEST(ThinnedSeries, AValueThatIsNotFiniteIsAGap) {
  ThinnedSeries series;
  series.add(1e9, 1);
  series.add(1e9 + 1, std::nan(""));
  series.add(1e9 + 2, 3);
  const auto points = series.points({}, 100).points;
  ASSERT_EQ(points.size(), 3U);
  EXPECT_TRUE(std::isnan(points[1].second));
}

TEST(ThinnedSeries, TimesThatFallBackDoNotDisturbTheOrder) {
  ThinnedSeries series;
  series.add(1e9 + 5, 1);
  series.add(1e9, 2);
  EXPECT_EQ(series.points({}, 10).points[1].first, 1e9 + 5);
}

TEST(RateSeries, SpreadsAnAmountOverItsTime) {
  RateSeries rate(100, 1);
  rate.add(1000, 1004, 40);  // of one
  rate.add(1000, 1004, 20);  // and of another at the same time
  const auto points = rate.points({}, 100, 1004).points;
  ASSERT_EQ(points.size(), 4U);
  for (const Point& point : points) EXPECT_DOUBLE_EQ(point.second, 15);
}

TEST(RateSeries, ABinThatMayStillGrowIsNotShown) {
  RateSeries rate(100, 1);
  rate.add(1000, 1002.5, 25);
  EXPECT_EQ(rate.points({}, 100, 1002.5).points.size(), 2U);
}

TEST(RateSeries, ATimeInWhichNobodyWorkedIsAGap) {
  RateSeries rate(100, 1);
  rate.add(1000, 1001, 10);
  rate.add(1005, 1006, 10);
  const auto points = rate.points({}, 100, 1006).points;
  ASSERT_EQ(points.size(), 3U);
  EXPECT_TRUE(std::isnan(points[1].second));
  EXPECT_DOUBLE_EQ(points.back().second, 10);
}

TEST(RateSeries, WidensItsBinsAndKeepsTheSum) {
  RateSeries rate(64, 0.25);
  for (int i = 0; i < 10'000; ++i) rate.add(1000 + i, 1001 + i, 5);
  for (const Point& point : rate.points({}, 1000, 11'000).points)
    EXPECT_NEAR(point.second, 5, 1e-9);
  // Half a year later, and a time that is nonsense.
  rate.add(1000 + 1.5e7, 1001 + 1.5e7, 5);
  rate.add(0, 1e300, 5);
  EXPECT_LE(rate.points({}, 1000, 1e9).points.size(), 64U);
}

}  // namespace
}  // namespace assay::live
