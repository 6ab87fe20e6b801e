// Faults of nodes and of the scheduler while a `launch: head` runs inside Slurm, on a real cluster
// of four nodes (docs/reliability.md). The head is on the first node; what it would start elsewhere
// is supervised by agents without ranks.

#include <fstream>

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "core/files.h"
#include "e2e/slurm_cluster.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

class SlurmHeadFaults : public SlurmTest {
 protected:
  // Tests run side by side: each knows its own processes.
  const std::string marker_ = "69." + std::to_string(::getpid());

  void TearDown() override {
    SlurmTest::TearDown();
    EXPECT_TRUE(eventually([this] { return processes_with("sleep " + marker_).empty(); }));
  }
  /// Starts a run whose head waits, unless the file "again" exists.
  pid_t start_and_wait_for_the_head(const std::string& cluster = "  retries: 1\n") {
    const pid_t pid = start(
        {"run",
         write("suite.yaml",
               "name: s\ncluster:\n  launcher: slurm\n  slurm: {wait: 60s}\n" + cluster +
                   "cases:\n  - name: probe\n    nodes: 2\n    launch: head\n"
                   "    limits: {grace: 500ms}\n"
                   "    command: [/bin/sh, -c, 'echo started; test -e " +
                   (folder_ / "again").string() + " || exec sleep " + marker_ +
                   "']\n    rules: {min-steps: off, min-duration: off, perflog-present: off}\n")
             .string()});
    EXPECT_TRUE(eventually([&] { return processes_with("sleep " + marker_).size() == 1; }, 40s))
        << read_file_or_empty(folder_ / "assay.log");
    return pid;
  }
  void let_it_end() const { std::ofstream(folder_ / "again") << "go"; }
  [[nodiscard]] std::string journal() const { return read_file(latest() / "journal.jsonl"); }
  [[nodiscard]] Json round() const { return result()["cases"][0]["rounds"][0]; }
};

TEST_F(SlurmHeadFaults, ANodeThatFailsEndsTheJobAndTheHeadIsTriedAgainOnOthers) {
  const pid_t pid = start_and_wait_for_the_head();
  let_it_end();
  (void)run_command({"scontrol", "update", "nodename=n2", "state=down", "reason=test"});
  const auto status = wait(pid, 100s);
  ASSERT_TRUE(status) << "the head's node is there, and assay waits for the failed one";
  EXPECT_EQ(status->code, 0) << read_file(folder_ / "assay.log");
  EXPECT_THAT(journal(), HasSubstr("round_retry"));
  EXPECT_THAT(journal(), HasSubstr("a node of job"));
  EXPECT_EQ(round()["status"], "completed");
}

TEST_F(SlurmHeadFaults, APreemptedJobIsNamedAndTheHeadIsTriedAgainWhenTheNodesAreFree) {
  const pid_t pid = start_and_wait_for_the_head();
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

TEST_F(SlurmHeadFaults, ARestartedSlurmctldDoesNotDisturbTheRound) {
  const pid_t pid = start_and_wait_for_the_head("");
  cluster_.restart("slurmctld");
  const auto heads = processes_with("sleep " + marker_);
  ASSERT_EQ(heads.size(), 1U) << "the head was disturbed";
  EXPECT_FALSE(wait(pid, 2s)) << read_file(folder_ / "assay.log");
  send_signal(pid, SIGINT);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 5);
  EXPECT_EQ(round()["status"], "interrupted") << "by the user, and nothing else";
  let_it_end();
  const CommandResult resumed = assay({"run", "--resume", latest().string()}, 120s);
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
}

// The head itself lives on: it must not go on as if its other node were there.
TEST_F(SlurmHeadFaults, ASlurmdThatDiesBesideTheHeadIsNamedAndTheRunResumes) {
  const pid_t pid = start_and_wait_for_the_head("");
  pid_t step = -1;
  for (const pid_t agent : processes_with("assay-agent --node"))
    if (read_file_or_empty("/proc/" + std::to_string(agent) + "/environ")
            .find("SLURMD_NODENAME=n2" + std::string(1, '\0')) != std::string::npos)
      for (pid_t at = agent; at > 1 && step < 0; at = parent_of(at))
        if (read_file_or_empty("/proc/" + std::to_string(at) + "/comm") == "slurmstepd\n")
          step = at;
  ASSERT_GT(step, 0);
  cluster_.kill("n2");
  send_signal(step, SIGKILL);
  const auto status = wait(pid, 90s);
  ASSERT_TRUE(status) << "assay still waits for a dead node";
  EXPECT_EQ(status->code, 5);
  EXPECT_EQ(round()["status"], "lost");
  // Slurm may say it first, and does not say which node it was.
  EXPECT_THAT(round()["reason"].get<std::string>(),
              AnyOf(HasSubstr("n2"), HasSubstr("a node of job")));
  cluster_.restart("n2");
  let_it_end();
  const CommandResult resumed = assay({"run", "--resume", latest().string()}, 120s);
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
}

}  // namespace assay::e2e
