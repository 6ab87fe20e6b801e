#include <limits>

#include <gtest/gtest.h>

#include "report/scatter.h"
#include "sound_page.h"

namespace assay::report {
namespace {

using testing::has;

Scatter two_points() {
  return {.title = "Speed against energy",
          .x = {"Throughput", "samples/s"},
          .y = {"energy per sample", "J"},
          .points = {{100, 2, "first", "/tests/a", true, "A"}, {50, 4, "<b>second</b>"}},
          .front = "best",
          .other = "rest"};
}

TEST(ScatterTest, PointsAreLinkedAndMarked) {
  const std::string drawn = render_scatter(two_points()).str();
  EXPECT_TRUE(has(drawn, "<a href=\"/tests/a\"><circle class=\"point on\""));
  EXPECT_TRUE(has(drawn, "<circle class=\"point\""));
  EXPECT_TRUE(has(drawn, "&lt;b&gt;second&lt;/b&gt;"));
  EXPECT_TRUE(has(drawn, "Speed against energy: energy per sample against Throughput, 2 points"));
}

TEST(ScatterTest, WhatIsNoNumberIsLeftOut) {
  Scatter scatter = two_points();
  scatter.points[0].x = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(has(render_scatter(scatter).str(), "1 point"));
  scatter.points[1].y = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(render_scatter(scatter).empty());
}

TEST(ScatterTest, NamesThatWouldLieOverEachOtherAreNotAllWritten) {
  Scatter scatter = two_points();
  scatter.points.push_back({101, 2.01, "third", "", true, "close"});
  scatter.points.push_back({101, 4, "fourth", "", true, "far"});
  const std::string drawn = render_scatter(scatter).str();
  EXPECT_TRUE(has(drawn, ">A</text>"));
  EXPECT_FALSE(has(drawn, ">close</text>"));
  EXPECT_TRUE(has(drawn, ">far</text>"));
  EXPECT_TRUE(has(drawn, "<title>third</title>"));
}

TEST(ScatterTest, OnePointAloneIsDrawn) {
  Scatter scatter = two_points();
  scatter.points.pop_back();
  scatter.points[0].y = 0;
  EXPECT_FALSE(has(render_scatter(scatter).str(), "nan"));
}

}  // namespace
}  // namespace assay::report
