#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slurm/allocation.h"

namespace assay::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> expand(const std::string& list) {
  if (list == "n[1-2]") return {"n1", "n2"};
  return {list};
}

TEST(SlurmAllocation, IndicesAreNumbersAndSpans) {
  EXPECT_THAT(parse_indices("0-2,5"), ElementsAre(0, 1, 2, 5));
  EXPECT_THAT(parse_indices("3"), ElementsAre(3));
  for (const char* text : {"", "a", "1-", "-1", "0-99999999", "1,,2"})
    EXPECT_THAT(parse_indices(text), IsEmpty()) << text;
}

TEST(SlurmAllocation, WithoutGenericResourcesProcessorsAreTheDevices) {
  const auto nodes = parse_allocation(
      "JobId=17 JobName=assay-7\n   Nodes=n[1-2] CPU_IDs=0-1 Mem=0 GRES=\n"
      "   Nodes=n3 CPU_IDs=4 Mem=0 GRES=\n   MinCPUsNode=1\n",
      expand);
  EXPECT_THAT(nodes, ElementsAre(NodeAllocation{"n1", {0, 1}}, NodeAllocation{"n2", {0, 1}},
                                 NodeAllocation{"n3", {4}}));
}

TEST(SlurmAllocation, GenericResourcesAreTheDevices) {
  const auto nodes =
      parse_allocation("     Nodes=n1 CPU_IDs=0-15 Mem=0 GRES=gpu:h200:2(IDX:4-5)\n", expand);
  EXPECT_THAT(nodes, ElementsAre(NodeAllocation{"n1", {4, 5}}));
}

TEST(SlurmAllocation, WhatIsNoAnswerIsNoNode) {
  EXPECT_THAT(parse_allocation("", expand), IsEmpty());
  EXPECT_THAT(parse_allocation("slurm_load_jobs error: Invalid job id specified\n", expand),
              IsEmpty());
}

}  // namespace
}  // namespace assay::slurm
