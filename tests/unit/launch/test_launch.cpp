#include <gtest/gtest.h>

#include "core/error.h"
#include "launch/agents/dry_run.h"
#include "launch/agents/launcher.h"
#include "launch/run_records.h"

namespace assay::launch {
namespace {

Json event(const std::string& name, int round, const std::string& status = {}) {
  Json out{{"event", name}, {"case", "c"}, {"round", round}};
  if (!status.empty()) out["status"] = status;
  return out;
}

TEST(FinishedRounds, AreThoseWithAResult) {
  const auto finished = finished_rounds(
      {event("round_start", 1), event("round_end", 1, "completed"), event("round_start", 2),
       event("round_end", 2, "failed"), event("round_start", 3),
       event("round_end", 3, "interrupted"), event("round_start", 4)});
  EXPECT_EQ(finished.size(), 2u);
  EXPECT_EQ(finished.at({"c", 1}), RoundStatus::completed);
  EXPECT_EQ(finished.at({"c", 2}), RoundStatus::failed);
}

TEST(FinishedRounds, AreNotThoseStartedAgain) {
  EXPECT_TRUE(
      finished_rounds({event("round_end", 1, "completed"), event("round_start", 1)}).empty());
}

TEST(FinishedRounds, AreNotThoseReopened) {
  EXPECT_TRUE(finished_rounds({event("round_start", 1), event("round_end", 1, "failed"),
                               event("round_reopened", 1, "failed")})
                  .empty());
}

TEST(FinishedRounds, AreFoundBesideRecordsOfAnotherForm) {
  const Json number{{"event", "round_end"}, {"case", 5}, {"round", "1"}, {"status", true}};
  const Json list{{"event", "round_start"}, {"case", Json::array()}, {"round", 1e300}};
  const auto finished =
      finished_rounds({number, list, event("round_start", 1), event("round_end", 1, "completed")});
  EXPECT_EQ(finished.size(), 1u);
  EXPECT_EQ(last_started({list, event("round_start", 2), event("round_start", 1)}).at("c"), 2);
}

TEST(LocalLauncher, RendersOneAgentPerHost) {
  plan::Cluster cluster;
  cluster.hosts = {{"alpha", 0}, {"beta", 0}};
  const auto launcher = make_launcher(cluster, ASSAY_BIN_DIR);
  const auto commands = launcher->render(launcher->hosts({}));
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_EQ(commands[1].argv[2], "1");
  EXPECT_EQ(commands[1].nodes, std::vector<int>{1});
}

TEST(UsedHosts, AreThoseOfTheLargestCaseAndAsManyAsMinNodesCounts) {
  plan::Plan plan;
  plan.cluster.hosts = {{"alpha", 0}, {"beta", 0}, {"gamma", 0}};
  plan.cases.resize(2);
  plan.cases[0].nodes = 1;
  plan.cases[1].nodes = 2;
  const auto launcher = make_launcher(plan.cluster, ASSAY_BIN_DIR);
  EXPECT_EQ(used_hosts(plan, *launcher), (std::vector<std::string>{"alpha", "beta"}));
  plan.cluster.min_nodes = 1;
  EXPECT_EQ(used_hosts(plan, *launcher).size(), 2U);
  plan.cluster.min_nodes = 3;
  EXPECT_EQ(used_hosts(plan, *launcher), (std::vector<std::string>{"alpha", "beta", "gamma"}));
}

TEST(MakeLauncher, RefusesALauncherThatStartsNoAgents) {
  plan::Cluster cluster;
  cluster.use_launcher(plan::ModelArtsOptions{});
  try {
    (void)make_launcher(cluster, ASSAY_BIN_DIR);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(error.message().find("modelarts"), std::string::npos);
  }
}

TEST(DryRun, ShowsEveryRankOfEveryRound) {
  plan::Plan plan;
  plan.run_id = "run1";
  plan::CasePlan plan_case;
  plan_case.name = "c";
  plan_case.procs = 6;
  plan_case.repeats = 2;
  plan_case.command = {"echo", "{rank} of {world_size}"};
  plan.cases.push_back(plan_case);
  const auto launcher = make_launcher(plan.cluster, ASSAY_BIN_DIR);
  const Json execution = describe_execution(plan, *launcher, "/results/run1");
  ASSERT_EQ(execution["rounds"].size(), 2u);
  EXPECT_EQ(execution["rounds"][1]["nodes"][0]["ranks"][5]["argv"][1], "5 of 6");
  const std::string text = render_execution(execution);
  EXPECT_NE(text.find("echo '5 of 6'"), std::string::npos);
  EXPECT_NE(text.find("2 more like these"), std::string::npos);
}

}  // namespace
}  // namespace assay::launch
