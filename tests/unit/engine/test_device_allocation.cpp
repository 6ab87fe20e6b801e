#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device_allocation.h"

namespace assay::engine {
namespace {

using Devices = DeviceAllocation::Devices;

TEST(DeviceAllocation, GivesTwoExecutionsDifferentDevicesOfANode) {
  DeviceAllocation allocation({{"node1", 4}});
  EXPECT_EQ(allocation.take({1, 1}, {{"node1", 2}}), (Devices{{"node1", {0, 1}}}));
  EXPECT_EQ(allocation.take({2, 1}, {{"node1", 2}}), (Devices{{"node1", {2, 3}}}));
}

TEST(DeviceAllocation, GivesAgainWhatWasReleased) {
  DeviceAllocation allocation({{"node1", 3}});
  (void)allocation.take({1, 1}, {{"node1", 1}});
  (void)allocation.take({2, 1}, {{"node1", 1}});
  allocation.release({1, 1});
  EXPECT_EQ(allocation.take({3, 1}, {{"node1", 2}}), (Devices{{"node1", {0, 2}}}));
}

TEST(DeviceAllocation, TakesNothingWhereOneNodeHasNotEnough) {
  DeviceAllocation allocation({{"node1", 2}, {"node2", 1}});
  EXPECT_FALSE(allocation.take({1, 1}, {{"node1", 2}, {"node2", 2}}));
  EXPECT_FALSE(allocation.take({1, 1}, {{"elsewhere", 1}}));
  EXPECT_EQ(allocation.take({2, 1}, {{"node1", 2}}), (Devices{{"node1", {0, 1}}}));
}

TEST(DeviceAllocation, KnowsWhatCanNeverBeTaken) {
  DeviceAllocation allocation({{"node1", 2}});
  (void)allocation.take({1, 1}, {{"node1", 2}});
  EXPECT_TRUE(allocation.can_ever_take({{"node1", 2}}));
  EXPECT_FALSE(allocation.can_ever_take({{"node1", 3}}));
  EXPECT_FALSE(allocation.can_ever_take({{"node1", 1}, {"elsewhere", 1}}));
}

TEST(DeviceAllocation, GivesAnExecutionOnEachNodeWhatIsFreeThere) {
  DeviceAllocation allocation({{"node1", 4}, {"node2", 4}});
  (void)allocation.take({1, 1}, {{"node1", 1}});
  EXPECT_EQ(allocation.take({2, 1}, {{"node1", 2}, {"node2", 2}}),
            (Devices{{"node1", {1, 2}}, {"node2", {0, 1}}}));
  EXPECT_EQ(allocation.take({3, 1}, {{"node1", 1}, {"node2", 2}}),
            (Devices{{"node1", {3}}, {"node2", {2, 3}}}));
}

TEST(DeviceAllocation, GivesWholeNodesOfDifferentSize) {
  DeviceAllocation allocation({{"node1", 2}, {"node2", 4}});
  EXPECT_EQ(allocation.take({1, 1}, {{"node1", 2}, {"node2", 4}}),
            (Devices{{"node1", {0, 1}}, {"node2", {0, 1, 2, 3}}}));
}

TEST(DeviceAllocation, KeepsWhatAnExecutionHadBeforeARestart) {
  DeviceAllocation allocation({{"node1", 4}});
  allocation.restore({1, 2}, {{"node1", {1, 3}}});
  EXPECT_EQ(allocation.of({1, 2}), (Devices{{"node1", {1, 3}}}));
  EXPECT_EQ(allocation.take({2, 1}, {{"node1", 2}}), (Devices{{"node1", {0, 2}}}));
  EXPECT_FALSE(allocation.take({3, 1}, {{"node1", 1}}));
}

}  // namespace
}  // namespace assay::engine
