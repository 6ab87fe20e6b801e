#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/text.h"
#include "slurm/slurm_node.h"

namespace assay::slurm {
namespace {

using ::testing::ElementsAre;

/// A line of sinfo.
std::string line(std::vector<std::string> fields) {
  return join(fields, "\x1f") + "\n";
}

TEST(SlurmNode, ANodeOfTwoPartitionsIsThereOnce) {
  const auto nodes = parse_nodes(line({"n1", "idle", "8", "(null)", "Unknown", "main", "none"}) +
                                 line({"n1", "idle", "8", "(null)", "Unknown", "urgent", "none"}) +
                                 line({"n2", "mixed", "8", "(null)", "Unknown", "main", "none"}));
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_THAT(nodes[0].partitions, ElementsAre("main", "urgent"));
  EXPECT_EQ(nodes[0].processors, 8);
  EXPECT_EQ(nodes[0].devices, 0);
  EXPECT_EQ(nodes[0].reason, "");
  EXPECT_TRUE(nodes[1].usable());
}

TEST(SlurmNode, ItsFirstGenericResourceIsItsDevices) {
  const auto nodes =
      parse_nodes(line({"n1", "idle", "64", "gpu:h200:8(S:0-1),shard:4", "-", "main", "none"}) +
                  line({"n2", "idle", "64", "gpu:4", "-", "main", "none"}) +
                  line({"n3", "idle", "64", "gpu", "-", "main", "none"}));
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0].device_kind, "gpu");
  EXPECT_EQ(nodes[0].device_type, "h200");
  EXPECT_EQ(nodes[0].devices, 8);
  EXPECT_EQ(nodes[1].device_type, "");
  EXPECT_EQ(nodes[1].devices, 4);
  EXPECT_EQ(nodes[2].devices, 0);
}

TEST(SlurmNode, SaysWhyAndByWhomItIsDrained) {
  const auto nodes =
      parse_nodes(line({"n1", "draining", "8", "(null)", "root", "main", "fan | broken"}));
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_TRUE(nodes[0].drained());
  EXPECT_FALSE(nodes[0].usable());
  EXPECT_EQ(nodes[0].reason, "fan | broken");
  EXPECT_EQ(nodes[0].reason_by, "root");
}

TEST(SlurmNode, MarksOfAStateAreNotPartOfIt) {
  const auto nodes = parse_nodes(line({"n1", "down*", "8", "(null)", "root", "main", "lost"}) +
                                 line({"n2", "idle*", "8", "(null)", "-", "main", "none"}) +
                                 line({"n3", "idle~", "8", "(null)", "-", "main", "none"}));
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0].state, "down");
  EXPECT_FALSE(nodes[0].usable());
  EXPECT_FALSE(nodes[1].usable()) << "slurmctld does not hear from it";
  EXPECT_TRUE(nodes[2].usable()) << "Slurm switches it on when it is needed";
}

}  // namespace
}  // namespace assay::slurm
