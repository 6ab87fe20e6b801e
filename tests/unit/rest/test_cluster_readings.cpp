#include <gtest/gtest.h>

#include "core/files.h"
#include "engine/execution_folder.h"
#include "eventually.h"
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

// A job that runs, with what its agent has measured: the node is known while the job is there.
TEST_F(ClusterReadingsOverRest, OfANodeWithAJobTheLastOneIs) {
  const jobs::JobId id = job_of("ann", "vision");
  ASSERT_TRUE(testing::eventually([&] { return !platform_.nodes()[0].uses.empty(); }));
  const auto run =
      engine::ExecutionFolder(folder_.path() / "jobs" / std::to_string(id) / "attempt-1").runs() /
      "run1";
  const auto node = run / "main/round1/n1_noderank0";
  std::filesystem::create_directories(node);
  write_file_atomic(run / "plan.json", "{}");
  write_file_atomic(run / "journal.jsonl",
                    R"({"event":"run_start","wall_ns":1}
{"event":"round_start","case":"main","round":1,"id":"r1","nodes":[{"host":"n1","node":0}],"wall_ns":2}
)");
  write_file_atomic(node / "telemetry.csv",
                    "mono_ns,wall_ns,source,util\n1,1,node,0.5\n2,2,node,0.25\n");
  ClusterReadings readings;
  std::vector<platform::NodeView> nodes = platform_.nodes();
  const auto known = readings.of(platform_, nodes);
  ASSERT_TRUE(known.contains("n1"));
  EXPECT_EQ(known.at("n1").sources.at("node")[Column::util], 0.25);
}

TEST(ReadingsJson, WhatWasNotMeasuredIsNull) {
  live::NodeReadings readings{.host = "n1", .age = std::chrono::seconds(2)};
  readings.sources["dev0"][Column::util] = 0.5;
  const Json json = fields_to_json(readings_answer(readings, 2, false));
  EXPECT_EQ(json["age_s"], 2);
  EXPECT_EQ(json["devices"][0]["util"], 0.5);
  EXPECT_TRUE(json["devices"][0]["power_w"].is_null());
  EXPECT_TRUE(json["devices"][1]["util"].is_null());
  EXPECT_TRUE(json["node"]["util"].is_null());
}

TEST(ReadingsJson, ProcessorsAreCoresWhereAllOfThemAreOffered) {
  live::NodeReadings readings;
  for (int i = 0; i < 2; ++i) readings.sources["cpu" + std::to_string(i)][Column::util] = 0.1 * i;
  EXPECT_EQ(readings_answer(readings, 2, true).devices[1].util, 0.1);
  EXPECT_EQ(readings_answer(readings, 1, true).devices[0].util, std::nullopt);
}

TEST(ReadingsJson, ANodeWithoutAManagementControllerHasThePowerOfItsPackages) {
  live::NodeReadings readings;
  readings.sources["rapl0"][Column::power_w] = 100;
  readings.sources["rapl1"][Column::power_w] = 50;
  readings.sources["dram0"][Column::power_w] = 9;
  EXPECT_EQ(readings_answer(readings, 1, false).node.power_w, 150);
  readings.sources["ipmi"][Column::power_w] = 400;
  EXPECT_EQ(readings_answer(readings, 1, false).node.power_w, 400);
}

}  // namespace
}  // namespace assay::rest
