#include <gtest/gtest.h>

#include "rest/cluster_readings.h"
#include "rest_world.h"

namespace assay::rest {
namespace {

using telemetry::Column;

class ClusterReadingsOverRest : public RestWorld {};

TEST_F(ClusterReadingsOverRest, OfANodeThatNobodyUsesNothingIsKnown) {
  const Json nodes = json({.path = "/api/v1/nodes", .as = "vic"})["nodes"];
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_TRUE(nodes[0]["readings"].is_null());
}

TEST(ReadingsJson, WhatWasNotMeasuredIsNull) {
  live::NodeReadings readings{.host = "n1", .age = std::chrono::seconds(2)};
  readings.sources["dev0"][Column::util] = 0.5;
  const Json json = readings_json(&readings, 2, false);
  EXPECT_EQ(json["age_s"], 2);
  EXPECT_EQ(json["devices"][0]["util"], 0.5);
  EXPECT_TRUE(json["devices"][0]["power_w"].is_null());
  EXPECT_TRUE(json["devices"][1]["util"].is_null());
  EXPECT_TRUE(json["node"]["util"].is_null());
}

TEST(ReadingsJson, ProcessorsAreCoresWhereAllOfThemAreOffered) {
  live::NodeReadings readings;
  for (int i = 0; i < 2; ++i) readings.sources["cpu" + std::to_string(i)][Column::util] = 0.1 * i;
  EXPECT_EQ(readings_json(&readings, 2, true)["devices"][1]["util"], 0.1);
  EXPECT_TRUE(readings_json(&readings, 1, true)["devices"][0]["util"].is_null());
}

TEST(ReadingsJson, ANodeWithoutAManagementControllerHasThePowerOfItsPackages) {
  live::NodeReadings readings;
  readings.sources["rapl0"][Column::power_w] = 100;
  readings.sources["rapl1"][Column::power_w] = 50;
  readings.sources["dram0"][Column::power_w] = 9;
  EXPECT_EQ(readings_json(&readings, 1, false)["node"]["power_w"], 150);
  readings.sources["ipmi"][Column::power_w] = 400;
  EXPECT_EQ(readings_json(&readings, 1, false)["node"]["power_w"], 400);
}

}  // namespace
}  // namespace assay::rest
