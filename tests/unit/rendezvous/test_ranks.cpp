#include <gtest/gtest.h>

#include "core/error.h"
#include "rendezvous/ranks.h"

namespace assay::rendezvous {
namespace {

struct Fixture {
  plan::Plan plan;
  plan::CasePlan plan_case;
  Fixture() {
    plan.run_id = "run1";
    plan.vendor_data = {{"visible_devices", "CUDA_VISIBLE_DEVICES"}};
    plan_case.name = "bert";
    plan_case.nodes = 2;
    plan_case.procs = 4;
    plan_case.data = "/data";
    plan_case.command = {"train", "--rank={rank}/{world_size}", "--data", "{data}", "{config}"};
  }
  [[nodiscard]] NodeCommands node(int number) const {
    Placement placement = place(plan, plan_case, {"a", "b", "c"}, 3);
    placement.master_port = 1234;
    return resolve_node(plan, plan_case, placement, number, "/out");
  }
};

TEST(Ranks, AreNodeRankTimesProcsPlusLocalRank) {
  const NodeCommands second = Fixture().node(1);
  ASSERT_EQ(second.ranks.size(), 4u);
  EXPECT_EQ(second.ranks[2].rank, 6);
  EXPECT_EQ(second.ranks[2].env.at("RANK"), "6");
  EXPECT_EQ(second.ranks[2].env.at("LOCAL_RANK"), "2");
  EXPECT_EQ(second.host, "b");
}

TEST(Ranks, GetTorchrunsEnvironmentAndTheVendorsDevices) {
  const NodeCommands second = Fixture().node(1);
  EXPECT_EQ(second.env.at("WORLD_SIZE"), "8");
  EXPECT_EQ(second.env.at("LOCAL_WORLD_SIZE"), "4");
  EXPECT_EQ(second.env.at("NODE_RANK"), "1");
  EXPECT_EQ(second.env.at("MASTER_PORT"), "1234");
  EXPECT_EQ(second.env.at("CUDA_VISIBLE_DEVICES"), "0,1,2,3");
  EXPECT_EQ(second.env.at("ASSAY_ROUND"), "3");
}

TEST(Ranks, HaveTheirPlaceholdersExpanded) {
  const std::vector<std::string> expected{"train", "--rank=5/8", "--data", "/data",
                                          "/out/config.json"};
  EXPECT_EQ(Fixture().node(1).ranks[1].argv, expected);
}

TEST(Ranks, OfAPerNodeCommandAreStartedByItself) {
  Fixture fixture;
  fixture.plan_case.launch = plan::LaunchMode::per_node;
  const NodeCommands second = fixture.node(1);
  ASSERT_EQ(second.ranks.size(), 1u);
  EXPECT_EQ(second.ranks[0].rank, 4);
  EXPECT_FALSE(second.ranks[0].env.contains("RANK"));
}

TEST(Ranks, OfAHeadCommandRunOnTheFirstNodeOnly) {
  Fixture fixture;
  fixture.plan_case.launch = plan::LaunchMode::head;
  EXPECT_EQ(fixture.node(0).ranks.size(), 1u);
  EXPECT_TRUE(fixture.node(1).ranks.empty());
}

TEST(Ranks, ObeyTheCasesOwnEnvironment) {
  Fixture fixture;
  fixture.plan_case.env = {{"RANK", "x{rank}"}, {"OMP_NUM_THREADS", "2"}};
  EXPECT_EQ(fixture.node(0).ranks[1].env.at("RANK"), "x1");
  EXPECT_EQ(fixture.node(0).ranks[1].env.at("OMP_NUM_THREADS"), "2");
}

// What is another on every host: which of its devices are the job's.
TEST(Ranks, ObeyTheirHostsEnvironmentBeforeTheCases) {
  Fixture fixture;
  fixture.plan_case.env = {{"CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7"}, {"OMP_NUM_THREADS", "2"}};
  fixture.plan.cluster.hosts = {{.name = "a"}, {.name = "b"}};
  fixture.plan.cluster.hosts[1].env = {{"CUDA_VISIBLE_DEVICES", "6,7"}};
  EXPECT_EQ(fixture.node(0).ranks[0].env.at("CUDA_VISIBLE_DEVICES"), "0,1,2,3,4,5,6,7");
  const NodeCommands second = fixture.node(1);
  EXPECT_EQ(second.ranks[3].env.at("CUDA_VISIBLE_DEVICES"), "6,7");
  EXPECT_EQ(second.ranks[3].env.at("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(second.visitor_env.at("CUDA_VISIBLE_DEVICES"), "6,7");
}

TEST(Ranks, MeetOnLoopbackWhenEverythingIsLocal) {
  Fixture fixture;
  EXPECT_EQ(fixture.node(0).env.at("MASTER_ADDR"), "127.0.0.1");
  fixture.plan.cluster.use_launcher(plan::SshOptions{});
  EXPECT_EQ(fixture.node(0).env.at("MASTER_ADDR"), "a");
}

}  // namespace
}  // namespace assay::rendezvous
