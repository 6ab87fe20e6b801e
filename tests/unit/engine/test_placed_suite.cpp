#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/placed_suite.h"

namespace assay::engine {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Order example_order() {
  Order order;
  order.execution = {12, 3};
  order.restarts = 2;
  order.submission.name = "train";
  order.submission.command = "python3 train.py";
  return order;
}

TEST(PlacedSuite, PlacementWinsOverWhatTheSuiteSaysOfHosts) {
  Order order = example_order();
  order.submission.command.clear();
  order.submission.suite = "name: a\ncluster: {launcher: slurm, hosts: [far]}\ncases: []\n";
  const PlacedSuite placed = place_suite(order, {{.name = "node1"}}, {});
  EXPECT_EQ(placed.text, order.submission.suite);
  EXPECT_THAT(placed.set,
              Contains("cluster={\"launcher\":\"local\",\"hosts\":[{\"name\":\"node1\",\"env\":{"
                       "\"ASSAY_DEVICES\":\"\"}}]}"));
}

TEST(PlacedSuite, RanksKnowTheirJobTheirRestartsAndTheirDevices) {
  Order order = example_order();
  order.array_index = 7;
  const PlacedSuite placed = place_suite(order, {{.name = "node1"}}, {{"node1", {2, 3}}});
  EXPECT_THAT(placed.set, Contains("env.ASSAY_JOB_ID=12"));
  EXPECT_THAT(placed.set, Contains("env.ASSAY_RESTART_COUNT=2"));
  EXPECT_THAT(placed.set, Contains("env.ASSAY_ARRAY_INDEX=7"));
  EXPECT_THAT(placed.set, Contains(HasSubstr("\"env\":{\"ASSAY_DEVICES\":\"2,3\"}")));
  EXPECT_THAT(placed.env, IsEmpty());
  EXPECT_EQ(placed.processors, (std::vector<int>{2, 3}));
}

TEST(PlacedSuite, AcceleratorsAreChosenByTheirVendorsVariable) {
  const EmbeddedNode node{.name = "gpu1",
                          .device_type = "H200",
                          .devices = 8,
                          .vendor = "nvidia",
                          .visible_devices = "CUDA_VISIBLE_DEVICES"};
  const PlacedSuite placed = place_suite(example_order(), {node}, {{"gpu1", {4, 5}}});
  EXPECT_THAT(placed.set, Contains("vendor=nvidia"));
  EXPECT_THAT(placed.set, Contains("hardware=H200"));
  EXPECT_THAT(placed.set, Contains(HasSubstr("\"CUDA_VISIBLE_DEVICES\":\"4,5\"")));
  EXPECT_EQ(placed.env.at("CUDA_VISIBLE_DEVICES"), "4,5");
  EXPECT_THAT(placed.processors, IsEmpty());
}

// The server itself may see only some of them.
TEST(PlacedSuite, DevicesAreCalledAsTheServerSeesThem) {
  const EmbeddedNode node{.name = "gpu1",
                          .device_type = "H200",
                          .devices = 2,
                          .vendor = "nvidia",
                          .visible_devices = "CUDA_VISIBLE_DEVICES",
                          .device_names = {"6", "7"}};
  const PlacedSuite placed = place_suite(example_order(), {node}, {{"gpu1", {1}}});
  EXPECT_EQ(placed.env.at("CUDA_VISIBLE_DEVICES"), "7");
  EXPECT_THAT(placed.set, Contains(HasSubstr("\"ASSAY_DEVICES\":\"1\"")));
}

TEST(PlacedSuite, EveryNodeHasItsOwnDevices) {
  EmbeddedNode one{.name = "gpu1",
                   .device_type = "H200",
                   .devices = 4,
                   .vendor = "nvidia",
                   .visible_devices = "CUDA_VISIBLE_DEVICES",
                   .remote = true};
  EmbeddedNode two = one;
  two.name = "gpu2";
  const PlacedSuite placed =
      place_suite(example_order(), {one, two}, {{"gpu1", {0}}, {"gpu2", {2, 3}}});
  EXPECT_THAT(placed.set,
              Contains(AllOf(HasSubstr("{\"name\":\"gpu1\",\"env\":{\"ASSAY_DEVICES\":\"0\",\"CUDA_"
                                       "VISIBLE_DEVICES\":\"0\"}}"),
                             HasSubstr("{\"name\":\"gpu2\",\"env\":{\"ASSAY_DEVICES\":\"2,3\","
                                       "\"CUDA_VISIBLE_DEVICES\":\"2,3\"}}"))));
}

TEST(PlacedSuite, WhatWasUploadedIsBroughtToNodesThatDoNotHaveIt) {
  Order order = example_order();
  order.code = "/data/code/1";
  const EmbeddedNode far{.name = "far", .remote = true};
  const PlacedSuite placed = place_suite(order, {far}, {});
  EXPECT_THAT(placed.remote_work, StartsWith("/tmp/assay-job-12-3-"));
  EXPECT_THAT(placed.set, Contains("workdir=" + placed.remote_work));
  EXPECT_NE(place_suite(order, {far}, {}).remote_work, placed.remote_work);
  EXPECT_EQ(place_suite(order, {{.name = "here"}}, {}).remote_work, "");
  order.submission.command.clear();
  order.submission.suite = "name: a\ncases: [{name: m, model: m, workdir: /w, command: x}]\n";
  EXPECT_EQ(place_suite(order, {far}, {}).remote_work, "");
}

TEST(PlacedSuite, ASuiteThatNamesItsVendorKeepsIt) {
  Order order = example_order();
  order.submission.command.clear();
  order.submission.suite = "name: a\nvendor: cpu\ncases: []\n";
  const PlacedSuite placed =
      place_suite(order, {{.name = "gpu1", .device_type = "H200", .vendor = "nvidia"}}, {});
  EXPECT_THAT(placed.set, Not(Contains("vendor=nvidia")));
}

}  // namespace
}  // namespace assay::engine
