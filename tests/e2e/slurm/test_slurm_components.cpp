// Heterogeneous jobs of a real Slurm: a case whose nodes come from several components.

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "core/files.h"
#include "e2e/slurm_cluster.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class SlurmComponents : public SlurmTest {
 protected:
  const std::string marker_ = "67." + std::to_string(::getpid());
  /// The first component's node comes after the second's by name.
  static constexpr const char* kComponents =
      "wait: 90s, components: [{nodes: 1, nodelist: n4}, {nodes: 2, nodelist: 'n[1-2]'}]";

  [[nodiscard]] fs::path suite(const std::string& script, int nodes,
                               const std::string& slurm = kComponents) const {
    return write("suite.yaml",
                 "name: s\ncluster:\n  launcher: slurm\n  slurm: {" + slurm +
                     "}\ncases:\n  - name: probe\n    nodes: " + std::to_string(nodes) +
                     "\n    limits: {grace: 500ms}\n    command: [/bin/sh, -c, '" + script +
                     "']\n    rules: {min-steps: off, min-duration: off, perflog-present: off}\n");
  }
  [[nodiscard]] std::vector<std::string> hosts_of_ranks() const {
    std::vector<std::string> out;
    const Json round = result()["cases"][0]["rounds"][0];
    for (const Json& rank : round["ranks"]) out.push_back(rank["host"]);
    return out;
  }
  [[nodiscard]] std::string output(const std::string& node, int rank) const {
    return read_file(latest() / "probe/round1" / node /
                     ("rank" + std::to_string(rank) + ".out.log"));
  }
};

TEST_F(SlurmComponents, AssayMakesAHeterogeneousJobAndRunsACaseOnAllOfIt) {
  const CommandResult run =
      assay({"run", suite("echo $RANK of $WORLD_SIZE on $SLURMD_NODENAME", 3).string()}, 150s);
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(hosts_of_ranks(), ::testing::ElementsAre("n4", "n1", "n2"));
  EXPECT_EQ(output("n4_noderank0", 0), "0 of 3 on n4\n");
  EXPECT_EQ(output("n1_noderank1", 1), "1 of 3 on n1\n");
  EXPECT_EQ(output("n2_noderank2", 2), "2 of 3 on n2\n");
  EXPECT_TRUE(eventually([] { return SlurmCluster::jobs().empty(); }, 20s)) << "given back";
}

TEST_F(SlurmComponents, WithinAHeterogeneousAllocationItsComponentsAreUsed) {
  const fs::path file = suite("echo $RANK on $SLURMD_NODENAME", 3, "wait: 60s");
  CommandOptions options;
  options.timeout = 150s;
  const CommandResult run =
      run_command({"salloc", "--nodes=1", "--nodelist=n3", ":", "--nodes=2", "--nodelist=n[1-2]",
                   std::string(ASSAY_BIN_DIR) + "/assay", "run", file.string(), "--out",
                   (folder_ / "results").string()},
                  options);
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(hosts_of_ranks(), ::testing::ElementsAre("n3", "n1", "n2"));
}

TEST_F(SlurmComponents, ADetachedRunHasItsComponentsToo) {
  ASSERT_EQ(assay({"run", "--detach", suite("echo $SLURMD_NODENAME", 3).string()}).status.code, 0);
  const auto told = [&] {
    return read_file_or_empty(latest() / "controller.log").find("Report: ") != std::string::npos;
  };
  ASSERT_TRUE(eventually(told, 120s)) << read_file_or_empty(latest() / "controller.log");
  EXPECT_THAT(hosts_of_ranks(), ::testing::ElementsAre("n4", "n1", "n2"));
}

TEST_F(SlurmComponents, AnAgentThatDiesInTheSecondComponentIsNamedAndItsNodeSwept) {
  // What left its session is found by a step of its own on that node, in that component.
  const pid_t pid =
      start({"run", suite("setsid sleep " + marker_ + " & exec sleep " + marker_, 3).string()});
  const auto sleepers = [&](const std::string& node) {
    std::vector<pid_t> out;
    for (const pid_t one : processes_with("sleep " + marker_))
      if (read_file_or_empty("/proc/" + std::to_string(one) + "/environ")
              .find("SLURMD_NODENAME=" + node) != std::string::npos)
        out.push_back(one);
    return out;
  };
  ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker_).size() == 6; }, 120s))
      << read_file_or_empty(folder_ / "assay.log");
  // Both halves of the agent at once, so that neither can clean up.
  const pid_t agent = parent_of(sleepers("n2").front());
  const pid_t guardian = parent_of(agent);
  for (const pid_t half : {guardian, agent}) send_signal(half, SIGSTOP);
  for (const pid_t half : {guardian, agent}) send_signal(half, SIGKILL);
  const auto status = wait(pid, 120s);
  ASSERT_TRUE(status) << "assay still waits for the dead agent";
  EXPECT_EQ(status->code, 5);
  EXPECT_THAT(result()["cases"][0]["rounds"][0]["reason"].get<std::string>(),
              HasSubstr("the agent on n2 was lost"));
  EXPECT_TRUE(eventually([&] { return processes_with("sleep " + marker_).empty(); }, 20s));
}

TEST_F(SlurmComponents, WhatIsLeftWhenOneComponentIsCancelledIsGivenBack) {
  const pid_t pid = start({"run", suite("exec sleep " + marker_, 3).string()});
  ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker_).size() == 3; }, 120s))
      << read_file_or_empty(folder_ / "assay.log");
  std::string second;
  for (const std::string& job : SlurmCluster::jobs())
    if (job.ends_with("+1")) second = job;
  ASSERT_FALSE(second.empty());
  ASSERT_TRUE(run_command({"scancel", second}).ok());
  const auto status = wait(pid, 50s);
  ASSERT_TRUE(status) << "the first component's rank is waited for";
  EXPECT_EQ(status->code, 5);
  EXPECT_TRUE(eventually([] { return SlurmCluster::jobs().empty(); }, 20s)) << "given back";
}

TEST_F(SlurmComponents, TooFewNodesAreAnErrorOfTheSuite) {
  const CommandResult run = assay({"run", suite("echo", 4).string()});
  EXPECT_EQ(run.status.code, 2) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("the components of the heterogeneous job have 3"));
}

}  // namespace assay::e2e
