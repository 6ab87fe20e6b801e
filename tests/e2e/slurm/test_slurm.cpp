// A real Slurm cluster of four nodes on this machine.

#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "core/files.h"
#include "core/sha256.h"
#include "e2e/slurm_cluster.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace std::chrono_literals;

const std::string kMicro = std::string(ASSAY_BIN_DIR) + "/assay-micro";

class Slurm : public SlurmTest {
 protected:
  // Tests run side by side: each knows its own processes.
  const std::string marker_ = "61." + std::to_string(::getpid());

  fs::path suite(const std::string& cases, const std::string& slurm = "wait: 20s") {
    return write("suite.yaml", "name: s\ncluster:\n  launcher: slurm\n  slurm: {" + slurm +
                                   "}\ncases:\n" + cases);
  }
  /// A case whose ranks say that they began, and sleep unless the file "again" exists.
  [[nodiscard]] std::string sleeper(int nodes) const {
    return "  - name: probe\n    nodes: " + std::to_string(nodes) +
           "\n    limits: {grace: 500ms}\n"
           "    command: [/bin/sh, -c, 'echo started; touch " +
           (folder_ / "first").string() + "; test -e " + (folder_ / "again").string() +
           " || sleep " + marker_ +
           "']\n    rules: {min-steps: off, min-duration: off, "
           "perflog-present: off}\n";
  }
  pid_t start_and_wait_for_ranks(const fs::path& suite_file) {
    const pid_t pid = start({"run", suite_file.string()});
    EXPECT_TRUE(eventually([&] { return fs::exists(folder_ / "first"); }, 20s))
        << read_file_or_empty(folder_ / "assay.log");
    return pid;
  }
};

TEST_F(Slurm, OneSrunCarriesTheAgentsOfFourNodes) {
  const CommandResult run = assay(
      {"run",
       suite("  - {case: 'null:native:cpu:4:2:2', config: {steps: 60, step_ms: 10}}\n").string()});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const Json round = result()["cases"][0]["rounds"][1];
  ASSERT_EQ(round["ranks"].size(), 8u);
  for (int r = 0; r < 8; ++r) {
    EXPECT_EQ(round["ranks"][r]["host"], "n" + std::to_string(r / 2 + 1));
    EXPECT_EQ(round["ranks"][r]["steps"], 60);
  }
  // What every node ran, by what its own agent found there.
  ASSERT_EQ(round["executed"].size(), 4u);
  for (int n = 0; n < 4; ++n) {
    const Json& ran = round["executed"][n];
    EXPECT_EQ(ran["host"], "n" + std::to_string(n + 1));
    EXPECT_EQ(ran["program"]["path"], kMicro);
    EXPECT_EQ(ran["program"]["sha256"], sha256_file(kMicro));
    EXPECT_EQ(ran["command"][0], kMicro);
    EXPECT_EQ(ran["given"]["RANK"], std::to_string(2 * n));
    EXPECT_EQ(ran["given"]["WORLD_SIZE"], "8");
    EXPECT_FALSE(ran.contains("image"));
  }
}

// Each rank says itself where it may run, and the record says the same.
TEST_F(Slurm, BindsTheRanksOfEveryNode) {
  const CommandResult run =
      assay({"run", suite("  - name: probe\n    nodes: 2\n    procs: 2\n    bind: cores\n"
                          "    command: [/bin/sh, -c, 'grep Cpus_allowed_list /proc/self/status; "
                          "sleep 1.5']\n"
                          "    rules: {min-steps: off, min-duration: off, perflog-present: off}\n")
                        .string()},
            120s);
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const Json round = result()["cases"][0]["rounds"][0];
  ASSERT_EQ(round["ranks"].size(), 4u);
  for (int r = 0; r < 4; ++r) {
    const std::string bound = round["ranks"][r].value("bound", "");
    EXPECT_THAT(bound, Not(IsEmpty()));
    EXPECT_THAT(round["ranks"][r].value("ran_on", ""), Not(IsEmpty()));
    const std::string node = std::to_string(r / 2);
    const std::string log = read_file(latest() / "probe/round1" /
                                      ("n" + std::to_string(r / 2 + 1) + "_noderank" + node) /
                                      ("rank" + std::to_string(r) + ".out.log"));
    EXPECT_THAT(log, ::testing::EndsWith("\t" + bound + "\n"));
  }
}

TEST_F(Slurm, ACheckAsksTheNodesThatSlurmGives) {
  const CommandResult run =
      assay({"check", suite("  - {case: 'null:native:cpu:4:1:1'}\n").string(), "--format", "json"});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const Json nodes = parse_json(run.out, "assay check")["nodes"];
  ASSERT_EQ(nodes.size(), 4U);
  for (int n = 0; n < 4; ++n) {
    EXPECT_EQ(nodes[n]["host"], "n" + std::to_string(n + 1));
    std::map<std::string, std::string> levels;
    for (const Json& check : nodes[n]["checks"]) levels[check["id"]] = check["level"];
    for (const char* id : {"reach", "clock-skew", "alike", "connect"})
      EXPECT_EQ(levels[id], "PASS") << id << " of " << nodes[n];
  }
}

TEST_F(Slurm, WithoutASharedFileSystemTheProgramsAreBroadcastAndTheLogsFetched) {
  const CommandResult run =
      assay({"run", suite("  - {case: 'null:native:cpu:2:2:1', config: {steps: 60, step_ms: 10}}\n",
                          "wait: 20s, shared: false")
                        .string()});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_TRUE(fs::exists(latest() / "null:native:cpu:2:2:1/round1/n2_noderank1/rank3.out.log"));
  // The copy that was broadcast is what ran, and is the same program.
  for (const Json& ran : result()["cases"][0]["rounds"][0]["executed"]) {
    EXPECT_NE(ran["program"]["path"], kMicro);
    EXPECT_EQ(ran["program"]["path"], ran["command"][0]);
    EXPECT_EQ(ran["program"]["sha256"], sha256_file(kMicro));
  }
}

TEST_F(Slurm, AnAllocationThatStaysPendingIsSaidAndGivenUp) {
  const CommandResult run = assay(
      {"run", suite("  - {case: 'null:native:cpu:4:1:1'}\n", "wait: 5s, extra: [--begin=now+1hour]")
                  .string()});
  EXPECT_EQ(run.status.code, 4) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("pending: BeginTime"));
}

TEST_F(Slurm, AnImpossibleRequestIsSlurmsOwnWord) {
  const CommandResult run = assay(
      {"run",
       suite("  - {case: 'null:native:cpu:2:1:1'}\n", "wait: 20s, partition: nowhere").string()});
  EXPECT_EQ(run.status.code, 4) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("invalid partition"));
}

TEST_F(Slurm, AJobCancelledFromOutsideIsNamedAndTheRunResumes) {
  const pid_t pid = start_and_wait_for_ranks(suite(sleeper(2)));
  const std::vector<std::string> jobs = SlurmCluster::jobs();
  ASSERT_EQ(jobs.size(), 1u);
  (void)run_command({"scancel", jobs[0]});
  const auto status = wait(pid, 40s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 5);
  EXPECT_THAT(read_file(folder_ / "assay.log"), HasSubstr("cancelled"));
  EXPECT_TRUE(eventually([this] { return processes_with("sleep " + marker_).empty(); }));
  std::ofstream(folder_ / "again") << "go";
  const CommandResult resumed = assay({"run", "--resume", latest().string()});
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
}

TEST_F(Slurm, CtrlCWhileTheJobIsPendingWithdrawsIt) {
  const pid_t pid = start(
      {"run", suite("  - {case: 'null:native:cpu:2:1:1'}\n", "wait: 1h, extra: [--begin=now+1hour]")
                  .string()});
  ASSERT_TRUE(eventually([] { return SlurmCluster::jobs().size() == 1; }, 20s));
  send_signal(pid, SIGINT);
  const auto status = wait(pid, 20s);
  ASSERT_TRUE(status) << "assay still waits for its job";
  EXPECT_EQ(status->code, 4);
  EXPECT_TRUE(eventually([] { return SlurmCluster::jobs().empty(); }));
}

TEST_F(Slurm, AControllerKilledWithNineGivesTheAllocationBackAndTheRunResumes) {
  const pid_t pid = start_and_wait_for_ranks(suite(sleeper(2)));
  send_signal(pid, SIGKILL);
  EXPECT_TRUE(eventually([this] { return processes_with("sleep " + marker_).empty(); }));
  EXPECT_TRUE(eventually([] { return SlurmCluster::jobs().empty(); }));
  std::ofstream(folder_ / "again") << "go";
  const CommandResult resumed = assay({"run", "--resume", latest().string()});
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
}

TEST_F(Slurm, StopEndsTheRanksAndTheJob) {
  const pid_t pid = start_and_wait_for_ranks(suite(sleeper(3)));
  EXPECT_EQ(assay({"stop", latest().string()}).status.code, 0);
  ASSERT_TRUE(wait(pid, 20s));
  EXPECT_TRUE(processes_with("sleep " + marker_).empty());
}

TEST_F(Slurm, ADetachedRunGoesOnUnderSbatchAndIsStoppedAndResumed) {
  const CommandResult detached =
      assay({"run", "--detach", suite(sleeper(3), "exclusive: true").string()});
  ASSERT_EQ(detached.status.code, 0) << detached.err;
  EXPECT_THAT(detached.out, HasSubstr("submitted as job"));
  ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "first"); }, 30s))
      << read_file_or_empty(latest() / "controller.log");
  EXPECT_THAT(assay({"top", "--once", latest().string()}).out, HasSubstr("probe"));
  const CommandResult stopped = assay({"stop", latest().string()});
  EXPECT_EQ(stopped.status.code, 0) << stopped.err;
  EXPECT_TRUE(eventually([] { return SlurmCluster::jobs().empty(); }, 20s));
  EXPECT_TRUE(processes_with("sleep " + marker_).empty());

  write("again", "");
  const CommandResult resumed = assay({"run", "--detach", "--resume", latest().string()});
  ASSERT_EQ(resumed.status.code, 0) << resumed.err;
  EXPECT_TRUE(eventually(
      [&] { return fs::exists(latest() / "report.html") && SlurmCluster::jobs().empty(); }, 30s));
  EXPECT_EQ(assay({"report", latest().string()}).status.code, 0)
      << read_file_or_empty(latest() / "controller.log");
}

TEST_F(Slurm, ADetachedRunThatIsCancelledEndsSoonAndNamesTheScheduler) {
  ASSERT_EQ(assay({"run", "--detach", suite(sleeper(2), "exclusive: true").string()}).status.code,
            0);
  ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "first"); }, 30s))
      << read_file_or_empty(latest() / "controller.log");
  const std::vector<std::string> jobs = SlurmCluster::jobs();
  ASSERT_EQ(jobs.size(), 1u);
  (void)run_command({"scancel", jobs[0]});
  // Its last word, after every report is written.
  const auto told = [&] {
    return read_file_or_empty(latest() / "controller.log").find("Report: ") != std::string::npos;
  };
  ASSERT_TRUE(eventually(told, 30s)) << read_file_or_empty(latest() / "controller.log");
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["status"], "lost");
  EXPECT_THAT(round["reason"].get<std::string>(), HasSubstr("Slurm ends job " + jobs[0]));
}

TEST_F(Slurm, RanksDoNotGetTheNumbersOfTheAgentsTask) {
  const CommandResult run = assay(
      {"run",
       suite("  - name: probe\n    nodes: 2\n    procs: 2\n    command: [/bin/sh, -c, 'env']\n"
             "    rules: {min-steps: off, min-duration: off, perflog-present: off}\n")
           .string()});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const std::string env = read_file(latest() / "probe/round1/n2_noderank1/rank3.out.log");
  EXPECT_THAT(env, HasSubstr("\nRANK=3\n"));
  EXPECT_THAT(env, HasSubstr("SLURM_JOB_ID="));
  for (const char* name : {"SLURM_PROCID=", "SLURM_LOCALID=", "SLURM_NTASKS=", "SLURM_STEP_ID="})
    EXPECT_THAT(env, Not(HasSubstr(name)));
}

TEST_F(Slurm, ADetachedRunThatWaitsSaysWhyAndIsWithdrawn) {
  ASSERT_EQ(assay({"run", "--detach", suite(sleeper(1), "extra: [--hold]").string()}).status.code,
            0);
  EXPECT_THAT(assay({"top", "--once", latest().string()}).out,
              HasSubstr("is pending: JobHeldUser"));
  EXPECT_THAT(assay({"stop", latest().string()}).out, HasSubstr("withdrawn"));
  EXPECT_TRUE(eventually([] { return SlurmCluster::jobs().empty(); }));
}

TEST_F(Slurm, ADetachedRunNeedsASharedFileSystem) {
  const CommandResult run = assay({"run", "--detach", suite(sleeper(1), "shared: false").string()});
  EXPECT_EQ(run.status.code, 2) << run.err;
  EXPECT_THAT(run.err, HasSubstr("shared: true"));
}

TEST_F(Slurm, AKilledAgentIsNamedAndTheOthersAreStopped) {
  const pid_t pid = start_and_wait_for_ranks(suite(sleeper(2)));
  std::vector<pid_t> agents;
  for (const pid_t agent : processes_with("assay-agent --node slurm")) {
    const std::string proc = "/proc/" + std::to_string(agent);
    const std::string environment = read_file_or_empty(proc + "/environ");
    if (environment.find("SLURMD_NODENAME=n2") != std::string::npos &&
        environment.find(folder_.string()) != std::string::npos &&
        read_file_or_empty(proc + "/comm") == "assay-agent\n")
      agents.push_back(agent);
  }
  ASSERT_EQ(agents.size(), 1u);
  send_signal(agents[0], SIGKILL);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 5);
  EXPECT_THAT(result()["cases"][0]["rounds"][0]["reason"].get<std::string>(), HasSubstr("n2"));
  EXPECT_TRUE(processes_with("sleep " + marker_).empty());
}

TEST_F(Slurm, ARestartedSlurmctldDoesNotDisturbARound) {
  const fs::path file =
      suite("  - {case: 'null:native:cpu:2:1:1', config: {steps: 400, step_ms: 10}}\n");
  const pid_t pid = start({"run", file.string()});
  ASSERT_TRUE(eventually(
      [&] { return fs::exists(folder_ / "results/latest") && fs::exists(latest() / "live.json"); },
      20s));
  cluster_.restart("slurmctld");
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0) << read_file(folder_ / "assay.log");
}

}  // namespace assay::e2e
