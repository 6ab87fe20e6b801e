// Faults of nodes and of the scheduler during rounds, on a real Slurm cluster of four nodes
// (docs/reliability.md).

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/slurm_cluster.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class SlurmFaults : public SlurmTest {
 protected:
  // Tests run side by side: each knows its own processes.
  const std::string marker_ = "63." + std::to_string(::getpid());

  void TearDown() override {
    SlurmTest::TearDown();
    EXPECT_TRUE(eventually([this] { return processes_with("sleep " + marker_).empty(); }));
  }

  /// Two nodes, whose ranks say that they began and sleep, unless the file "again" exists.
  fs::path sleepers(const std::string& cluster = {}) const {
    return write("suite.yaml",
                 "name: s\ncluster:\n  launcher: slurm\n  slurm: {wait: 60s}\n" + cluster +
                     "cases:\n  - name: probe\n    nodes: 2\n    limits: {grace: 500ms}\n"
                     "    command: [/bin/sh, -c, 'echo started; test -e " +
                     (folder_ / "again").string() + " || exec sleep " + marker_ +
                     "']\n    rules: {min-steps: off, min-duration: off, perflog-present: off}\n");
  }
  pid_t start_and_wait_for_sleepers(const std::string& cluster = {}) {
    const pid_t pid = start({"run", sleepers(cluster).string()});
    EXPECT_TRUE(eventually([&] { return processes_with("sleep " + marker_).size() == 2; }, 40s))
        << read_file_or_empty(folder_ / "assay.log");
    return pid;
  }
  [[nodiscard]] pid_t sleeper_on(const std::string& node) const {
    for (const pid_t pid : processes_with("sleep " + marker_))
      if (read_file_or_empty("/proc/" + std::to_string(pid) + "/environ")
              .find("SLURMD_NODENAME=" + node + '\0') != std::string::npos)
        return pid;
    return -1;
  }
  /// Waits: a process that becomes another program has no environment for a moment.
  [[nodiscard]] pid_t coming_sleeper_on(const std::string& node) const {
    (void)eventually([&] { return sleeper_on(node) > 0; });
    return sleeper_on(node);
  }
  void let_it_end() const { std::ofstream(folder_ / "again") << "go"; }
  [[nodiscard]] std::string reason() const {
    return result()["cases"][0]["rounds"][0]["reason"].get<std::string>();
  }
  [[nodiscard]] std::string journal() const { return read_file(latest() / "journal.jsonl"); }
};

TEST_F(SlurmFaults, ARankKilledFromOutsideIsNamed) {
  const pid_t pid = start_and_wait_for_sleepers();
  const pid_t rank = coming_sleeper_on("n2");
  ASSERT_GT(rank, 0);
  send_signal(rank, SIGKILL);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << "assay still waits for a dead rank";
  EXPECT_EQ(status->code, 5);
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["status"], "failed");
  EXPECT_THAT(reason(), HasSubstr("rank 1 on n2: SIGKILL"));
}

TEST_F(SlurmFaults, ASlurmdThatDiesWithItsStepsIsNamedAndTheRunResumes) {
  const pid_t pid = start_and_wait_for_sleepers();
  const pid_t agent = parent_of(coming_sleeper_on("n2"));
  const pid_t step = parent_of(parent_of(agent));  // the agent has a guardian
  ASSERT_EQ(read_file_or_empty("/proc/" + std::to_string(step) + "/comm"), "slurmstepd\n");
  cluster_.kill("n2");
  send_signal(step, SIGKILL);
  // The agent's input closed: it ends its rank and itself.
  EXPECT_TRUE(eventually([&] { return !alive(agent) && sleeper_on("n2") < 0; }, 20s));
  const auto status = wait(pid, 90s);
  ASSERT_TRUE(status) << "assay still waits for a dead node";
  EXPECT_EQ(status->code, 5);
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["status"], "lost");
  EXPECT_THAT(reason(), HasSubstr("n2"));
  EXPECT_TRUE(fs::exists(latest() / "probe/round1/n1_noderank0/rank0.out.log"));

  cluster_.restart("n2");
  let_it_end();
  const CommandResult resumed = assay({"run", "--resume", latest().string()}, 120s);
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
}

// Nobody else would ever give the nodes back; the end of the test looks for them.
TEST_F(SlurmFaults, AnAllocationWhoseSallocWasKilledIsGivenBack) {
  const pid_t pid = start_and_wait_for_sleepers();
  const auto sallocs = processes_with("--job-name=assay-" + latest().filename().string());
  const auto salloc = std::ranges::find(sallocs, pid, [](pid_t one) { return parent_of(one); });
  ASSERT_NE(salloc, sallocs.end());
  send_signal(*salloc, SIGKILL);
  ASSERT_TRUE(eventually([&] { return !alive(*salloc); }));
  send_signal(pid, SIGINT);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 5);
  EXPECT_TRUE(eventually([] { return SlurmCluster::jobs().empty(); }, 30s));
}

TEST_F(SlurmFaults, ANodeThatFailsEndsTheJobWhichIsNamedAndTriedAgainOnOthers) {
  const pid_t pid = start_and_wait_for_sleepers("  retries: 1\n");
  let_it_end();
  (void)run_command({"scontrol", "update", "nodename=n2", "state=down", "reason=test"});
  const auto status = wait(pid, 100s);
  ASSERT_TRUE(status) << "assay still waits for a failed node";
  EXPECT_EQ(status->code, 0) << read_file(folder_ / "assay.log");
  EXPECT_THAT(journal(), HasSubstr("round_retry"));
  EXPECT_THAT(journal(), HasSubstr("a node of job"));
  for (const Json& rank : result()["cases"][0]["rounds"][0]["ranks"])
    EXPECT_NE(rank["host"], "n2") << "the node is down";
}

TEST_F(SlurmFaults, APreemptedJobIsNamedAndTriedAgainWhenTheNodesAreFree) {
  const pid_t pid = start_and_wait_for_sleepers("  retries: 1\n");
  let_it_end();
  const CommandResult urgent = run_command({"sbatch", "--partition=urgent", "--nodes=4",
                                            "--exclusive", "--output=/dev/null", "--wrap=sleep 3"});
  ASSERT_TRUE(urgent.status.ok()) << urgent.err;
  const auto status = wait(pid, 100s);
  ASSERT_TRUE(status) << "assay still waits for a job that is gone";
  EXPECT_EQ(status->code, 0) << read_file(folder_ / "assay.log");
  EXPECT_THAT(journal(), HasSubstr("round_retry"));
  EXPECT_THAT(journal(), HasSubstr("was pre-empted by another job"));
}

}  // namespace assay::e2e
