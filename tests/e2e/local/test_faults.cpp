// What can go wrong in a rank, an agent, the controller or the machine, and what Assay makes of it.

#include <fstream>

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include "core/files.h"
#include "core/process_tree.h"
#include "e2e/harness.h"
#include "needs.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class Faults : public AssayTest {
 protected:
  // Runs the suite and gives the only round of its only case.
  Json only_round(const fs::path& suite, int expected_exit) {
    const CommandResult run = assay({"run", suite.string()});
    EXPECT_EQ(run.status.code, expected_exit) << run.out << run.err;
    return result()["cases"][0]["rounds"][0];
  }
};

TEST_F(Faults, ARankThatExitsWithThreeFailsTheRoundAndIsNamed) {
  const Json round = only_round(script_suite("exit 3\n"), 5);
  EXPECT_EQ(round["status"], "failed");
  EXPECT_THAT(round["reason"].get<std::string>(), HasSubstr("rank 0 on "));
  EXPECT_THAT(round["reason"].get<std::string>(), HasSubstr("exit 3"));
  EXPECT_EQ(round["ranks"][0]["exit"]["code"], 3);
}

TEST_F(Faults, TheLastWordsOfAFailedRankAreShownWithoutTheirColours) {
  const fs::path suite = script_suite(
      "echo loading\nprintf '\\033[31mRuntimeError: out of memory\\033[0m\\n' >&2\nexit 1\n");
  const CommandResult run = assay({"run", suite.string()});
  EXPECT_THAT(run.out, HasSubstr("RuntimeError: out of memory"));
  EXPECT_THAT(run.out, Not(HasSubstr("\x1b")));
  const Json quote = result()["cases"][0]["rounds"][0]["findings"][0]["quote"];
  EXPECT_EQ(quote, Json::parse(R"(["loading", "RuntimeError: out of memory"])"));
  EXPECT_THAT(read_file(latest() / "report.html"), HasSubstr("RuntimeError: out of memory"));
}

TEST_F(Faults, ARankKilledBySegvIsNamedWithItsSignal) {
  const Json round = only_round(script_suite("kill -SEGV $$\n"), 5);
  EXPECT_EQ(round["ranks"][0]["exit"]["signal"], SIGSEGV);
  EXPECT_THAT(round["reason"].get<std::string>(), HasSubstr("SIGSEGV"));
}

TEST_F(Faults, ACommandThatDoesNotExistFailsTheLaunch) {
  const fs::path suite =
      write("suite.yaml", "name: s\ncases:\n  - name: ghost\n    command: [no-such-program]\n");
  const CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 4) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("no-such-program"));
}

TEST_F(Faults, OneFailedRankEndsTheOthersAfterTheGrace) {
  const Json round = only_round(script_suite("test $RANK = 1 && exit 7\nsleep 300\n",
                                             "    procs: 3\n    limits: {grace: 500ms}\n"),
                                5);
  EXPECT_THAT(round["reason"].get<std::string>(), HasSubstr("rank 1"));
  EXPECT_EQ(round["ranks"][1]["exit"]["code"], 7);
  EXPECT_EQ(round["ranks"][0]["ended_by"], "assay: stop");
}

TEST_F(Faults, AHangingRankIsEndedByTheTimeLimitEvenIfItIgnoresSigterm) {
  const Json round = only_round(script_suite("trap '' TERM\nwhile :; do sleep 1; done\n",
                                             "    limits: {time: 1s, grace: 300ms}\n"),
                                5);
  EXPECT_EQ(round["status"], "timed_out");
  EXPECT_THAT(round["reason"].get<std::string>(), HasSubstr("rank 0"));
}

TEST_F(Faults, ADaemonThatLeavesItsSessionIsKilledWithTheRound) {
  const std::string marker = "31.4159" + std::to_string(::getpid());
  const Json round =
      only_round(script_suite("(setsid sleep " + marker + " >/dev/null 2>&1 &)\nsleep 0.2\n"), 0);
  EXPECT_EQ(round["status"], "completed");
  EXPECT_TRUE(processes_with("sleep " + marker).empty());
}

TEST_F(Faults, AStoppedRankIsReportedAsStalledByName) {
  const fs::path suite =
      script_suite("echo ready\nkill -STOP $$\n", "    limits: {stall: 1s, grace: 300ms}\n");
  const Json round = only_round(suite, 5);
  EXPECT_EQ(round["status"], "stalled");
  EXPECT_THAT(round["reason"].get<std::string>(), HasSubstr("rank 0 on "));
  EXPECT_THAT(round["reason"].get<std::string>(), HasSubstr("stopped by a signal"));
}

TEST_F(Faults, AFloodOfOneGigabyteIsKeptWithinTheLimit) {
  const fs::path suite = script_suite("yes 0123456789012345678901234567890 | head -c 1073741824\n",
                                      "    limits: {output: 16M}\n");
  const CommandResult run = assay({"run", suite.string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  std::uintmax_t kept = 0;
  for (const auto& entry : fs::recursive_directory_iterator(latest()))
    if (entry.path().filename().string().starts_with("rank0.out.log")) kept += entry.file_size();
  EXPECT_LE(kept, 16u << 20);
  EXPECT_GE(kept, 8u << 20);
  const Json rank = result()["cases"][0]["rounds"][0]["ranks"][0];
  EXPECT_EQ(rank["dropped_bytes"].get<std::uint64_t>() + kept, 1073741824u);
}

TEST_F(Faults, StrangeOutputDoesNotDisturbTheEventsAroundIt) {
  const std::string event =
      R"([PerfLog] {"event": "STEP_END", "value": {"loss": 1.5, "samples": 4}, "step": %d, )"
      R"("metadata": {"time_ms": 17000000%02d000, "rank": 0}}\n)";
  const fs::path suite = script_suite(
      "printf '" + event + "' 1 1\n" +               //
      "head -c 10485760 /dev/zero | tr '\\0' x\n" +  // a line of 10 MB
      "echo\n" +                                     //
      "printf 'nul \\000 byte\\n\\377\\376 not utf-8\\n'\n" +
      "printf '[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"lo\\n'\n" +  // half a line
      "printf '" + event + "' 2 2\n" +
      "printf '[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"loss\": NaN, \"samples\": 4}, "
      "\"step\": 3, \"metadata\": {\"time_ms\": 1700000003000, \"rank\": 0}}\\n'\n" +
      "printf '" + event + "' 4 4\n");
  const CommandResult run = assay({"run", suite.string()});
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["ranks"][0]["steps"], 4) << run.out << run.err;
  EXPECT_EQ(round["ranks"][0]["malformed_lines"], 1);
  EXPECT_EQ(run.status.code, 6);  // a loss that is not finite
  EXPECT_THAT(run.out, HasSubstr("finite"));
}

TEST_F(Faults, ARunGoesOnInTheFolderWhereItWasStarted) {
  const std::string marker = "31.4159" + std::to_string(::getpid());
  write("here", "");
  const fs::path suite =
      script_suite("test -e here || exit 9\ntest $ASSAY_ROUND = 2 && test ! -e second && sleep " +
                       marker + "\nexit 0\n",
                   "    repeats: 2\n");
  const pid_t pid = start({"run", suite.string()});
  ASSERT_TRUE(eventually([&] { return !processes_with("sleep " + marker).empty(); }));
  send_signal(pid, SIGINT);
  ASSERT_TRUE(wait(pid, 60s).has_value());
  write("second", "");
  const CommandResult resumed =
      run_command({"/bin/sh", "-c", "cd / && exec \"$0\" run --resume \"$1\"",
                   std::string(ASSAY_BIN_DIR) + "/assay", latest().string()});
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("going on in " + folder_.string()));
}

TEST_F(Faults, ARunUnderNohupOutlivesItsTerminal) {
  const fs::path suite = script_suite("touch started\nsleep 1\nexit 0\n");
  const CommandResult run = run_command(
      {"/bin/sh", "-c",
       "cd \"$0\"; trap '' HUP; \"$1\" run \"$2\" & pid=$!; "
       "while [ ! -e started ] && kill -0 $pid; do sleep 0.05; done; kill -HUP $pid; wait $pid",
       folder_.string(), std::string(ASSAY_BIN_DIR) + "/assay", suite.string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
}

TEST_F(Faults, AControllerKilledWithNineLeavesNoRankAndTheRunResumes) {
  const std::string marker = "27.1828" + std::to_string(::getpid());
  const fs::path suite =
      script_suite("echo working\ntest $ASSAY_ROUND = 2 && test ! -e " +
                       (folder_ / "second").string() + " && sleep " + marker + "\nexit 0\n",
                   "    repeats: 3\n    procs: 2\n");
  const pid_t pid = start({"run", suite.string()});
  ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker).size() == 2; }));
  const std::vector<pid_t> agents = agents_of(pid);
  ASSERT_EQ(agents.size(), 1u);
  send_signal(pid, SIGKILL);
  EXPECT_TRUE(eventually([&] { return processes_with("sleep " + marker).empty(); }, 5s));
  EXPECT_TRUE(eventually([&] { return !alive(agents[0]); }, 5s));

  const fs::path first = latest() / "probe/round1";
  const auto touched = fs::last_write_time(first);
  std::ofstream(folder_ / "second") << "go";
  const CommandResult resumed = assay({"run", "--resume", latest().string()});
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
  EXPECT_EQ(fs::last_write_time(first), touched);
  EXPECT_TRUE(fs::exists(latest() / "probe/round2.interrupted-1"));
  const Json rounds = result()["cases"][0]["rounds"];
  ASSERT_EQ(rounds.size(), 3u);
  for (const Json& round : rounds) EXPECT_EQ(round["status"], "completed");
}

TEST_F(Faults, AnAgentKilledWithNineIsNamedAndItsRanksEnd) {
  const std::string marker = "16.1803" + std::to_string(::getpid());
  const fs::path suite = script_suite("(setsid sleep " + marker + " &)\nsleep " + marker + "\n",
                                      "    limits: {grace: 500ms}\n");
  const pid_t pid = start({"run", suite.string()});
  ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker).size() == 2; }));
  const std::vector<pid_t> agents = agents_of(pid);
  ASSERT_EQ(agents.size(), 1u);
  send_signal(agents[0], SIGKILL);
  const auto status = wait(pid, 10s);
  ASSERT_TRUE(status) << "assay still waits for a dead agent";
  EXPECT_EQ(status->code, 5);
  EXPECT_TRUE(processes_with("sleep " + marker).empty());
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["status"], "lost");
  EXPECT_THAT(round["reason"].get<std::string>(), HasSubstr("SIGKILL"));
}

TEST_F(Faults, AnAgentThatIsStoppedIsGivenUpAndNothingOfItIsLeft) {
  const std::string marker = "14.1421" + std::to_string(::getpid());
  const fs::path suite = script_suite("sleep " + marker + "\n");
  for (const bool guardian_too : {false, true}) {
    SCOPED_TRACE(guardian_too ? "with its guardian" : "alone");
    const pid_t pid = start({"run", suite.string()});
    ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker).size() == 1; }));
    std::vector<pid_t> stopped = agents_of(pid);
    ASSERT_EQ(stopped.size(), 1u);
    if (guardian_too)
      for (const pid_t guardian : agents_of(pid, "assay-guardian")) stopped.push_back(guardian);
    for (const pid_t one : stopped) send_signal(one, SIGSTOP);
    const auto status = wait(pid, 90s);
    ASSERT_TRUE(status) << "assay still waits for an agent that is stopped";
    EXPECT_EQ(status->code, 5);
    for (const pid_t one : stopped) EXPECT_THAT(process_state(one), AnyOf('\0', 'Z'));
    EXPECT_TRUE(eventually([&] { return processes_with("sleep " + marker).empty(); }));
    EXPECT_EQ(result()["cases"][0]["rounds"][0]["status"], "lost");
    EXPECT_EQ(result()["validity"], "INCOMPLETE");
    EXPECT_TRUE(fs::exists(latest() / "report.html"));
  }
}

// Neither their session nor their environment says whose they are.
TEST_F(Faults, ADaemonWithAnEmptyEnvironmentEndsWithAnAgentKilledWithNine) {
  const std::string marker = "16.1804" + std::to_string(::getpid());
  const fs::path suite =
      script_suite("(env -i setsid sleep " + marker + " &)\nsleep " + marker + "\n",
                   "    limits: {grace: 500ms}\n");
  for (const std::string half : {"assay-agent", "assay-guardian"}) {
    SCOPED_TRACE("kill -9 of " + half);
    const pid_t pid = start({"run", suite.string()});
    ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker).size() == 2; }));
    const std::vector<pid_t> agents = agents_of(pid, half);
    ASSERT_EQ(agents.size(), 1u);
    send_signal(agents[0], SIGKILL);
    const auto status = wait(pid, 20s);
    ASSERT_TRUE(status) << "assay still waits for a dead agent";
    EXPECT_EQ(status->code, 5);
    EXPECT_TRUE(eventually([&] { return processes_with("sleep " + marker).empty(); }));
    EXPECT_EQ(result()["cases"][0]["rounds"][0]["status"], "lost");
  }
}

// Nothing is left then that knows of it but its control group.
TEST_F(Faults, ADaemonWithAnEmptyEnvironmentIsFoundWhenAgentAndGuardianAreKilled) {
  ASSERT_EQ(assay({"run", script_suite("true\n").string()}).err, "");
  const Json group = read_json(latest() / "system.json")["nodes"][0]["round_cgroup"];
  if (!group["available"].get<bool>())
    GTEST_SKIP() << needs::system("control groups: " + group["why"].get<std::string>());
  const std::string marker = "27.1828" + std::to_string(::getpid());
  const fs::path suite =
      script_suite("(env -i setsid sleep " + marker + " &)\nsleep " + marker + "\n",
                   "    limits: {grace: 500ms}\n");
  const pid_t pid = start({"run", suite.string()});
  ASSERT_TRUE(eventually([&] { return processes_with("sleep " + marker).size() == 2; }));
  std::vector<pid_t> both = agents_of(pid, "assay-agent");
  for (const pid_t guardian : agents_of(pid, "assay-guardian")) both.push_back(guardian);
  ASSERT_EQ(both.size(), 2u);
  for (const int signal : {SIGSTOP, SIGKILL})  // neither sees the other's end
    for (const pid_t half : both) send_signal(half, signal);
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << "assay still waits for a dead agent";
  EXPECT_EQ(status->code, 5);
  EXPECT_TRUE(eventually([&] { return processes_with("sleep " + marker).empty(); }));
}

TEST_F(Faults, CtrlCStopsGentlyAndKeepsWhatWasMeasured) {
  const fs::path suite = script_suite(
      "echo started\ntrap 'echo bye; exit 0' TERM\n"
      "while :; do sleep 0.1; done\n",
      "    repeats: 2\n");
  const pid_t pid = start({"run", suite.string()});
  ASSERT_TRUE(eventually([&] {
    return fs::exists(folder_ / "results/latest") && fs::exists(latest() / "live.json");
  }));
  send_signal(pid, SIGINT);
  const auto status = wait(pid, 10s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 5);
  const Json rounds = result()["cases"][0]["rounds"];
  EXPECT_EQ(rounds[0]["status"], "interrupted");
  EXPECT_EQ(rounds[1]["status"], "not_run");
}

TEST_F(Faults, ASecondCtrlCKillsAtOnce) {
  const fs::path suite =
      script_suite("trap '' TERM\nwhile :; do sleep 0.1; done\n", "    limits: {grace: 5m}\n");
  const pid_t pid = start({"run", suite.string()});
  ASSERT_TRUE(eventually([&] {
    return fs::exists(folder_ / "results/latest") && fs::exists(latest() / "live.json");
  }));
  send_signal(pid, SIGINT);
  EXPECT_FALSE(wait(pid, 500ms));
  send_signal(pid, SIGINT);
  EXPECT_TRUE(wait(pid, 5s));
}

TEST_F(Faults, TwoRunsAtOnceDoNotDisturbEachOther) {
  const fs::path suite = script_suite("echo $MASTER_PORT\nsleep 0.5\n", "    procs: 2\n");
  const pid_t one = start({"run", suite.string()});
  const pid_t two = start({"run", suite.string()});
  for (const pid_t pid : {one, two}) {
    const auto status = wait(pid, 20s);
    ASSERT_TRUE(status);
    EXPECT_EQ(status->code, 0);
  }
  int runs = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "results"))
    runs += entry.path().filename().string().starts_with("run2") ? 1 : 0;
  EXPECT_EQ(runs, 2);
}

TEST_F(Faults, AReaderThatGoesAwayDoesNotEndTheRun) {
  const fs::path suite = script_suite("sleep 0.3\n", "    repeats: 2\n");
  const CommandResult run =
      run_command({"/bin/sh", "-c", "cd \"$1\" && \"$2\" run \"$3\" | head -n 1; sleep 2", "sh",
                   folder_.string(), std::string(ASSAY_BIN_DIR) + "/assay", suite.string()});
  EXPECT_EQ(run.status.code, 0) << run.err;
  EXPECT_THAT(run.err, Not(HasSubstr("error")));
  EXPECT_TRUE(eventually([&] { return fs::exists(latest() / "result.json"); }));
  EXPECT_EQ(result()["cases"][0]["rounds"][1]["status"], "completed");
}

TEST_F(Faults, ARunIsLockedAgainstASecondResume) {
  const fs::path suite = script_suite("sleep 3\n");
  const pid_t pid = start({"run", suite.string()});
  ASSERT_TRUE(eventually([&] {
    return fs::exists(folder_ / "results/latest") && fs::exists(latest() / "live.json");
  }));
  const CommandResult second = assay({"run", "--resume", latest().string()});
  EXPECT_EQ(second.status.code, 3);
  EXPECT_THAT(second.err, HasSubstr("another assay is working on this run"));
  EXPECT_TRUE(wait(pid, 20s));
}

// Mounting needs root.
class OnItsOwnDisk : public Faults {
 protected:
  void mount(const char* options, unsigned long flags = 0) {
    disk_ = folder_ / "disk";
    fs::create_directory(disk_);
    if (::mount("assay-test", disk_.c_str(), "tmpfs", flags, options) != 0) {
      disk_.clear();
      GTEST_SKIP() << needs::root("to mount a tmpfs");
    }
  }
  void TearDown() override {
    if (!disk_.empty()) ::umount2(disk_.c_str(), MNT_DETACH);
    Faults::TearDown();
  }
  fs::path disk_;
};

TEST_F(OnItsOwnDisk, AFullDiskIsSaidAndTheRankIsNotBlocked) {
  mount("size=1m");
  if (IsSkipped()) return;
  const fs::path suite = script_suite("head -c 8388608 /dev/zero | tr '\\0' '\\n'\n");
  const CommandResult run = assay({"run", suite.string(), "--out", disk_.string()});
  EXPECT_NE(run.status.code, 0);
  EXPECT_NE(run.status.code, 1);
  EXPECT_THAT(run.out, HasSubstr("unrecorded"));
  EXPECT_THAT(run.out, HasSubstr("rank0.out.log could not be written on"));
  EXPECT_THAT(run.out, HasSubstr("No space left on device"));
}

TEST_F(OnItsOwnDisk, ARoundWhoseEvidenceCouldNotBeWrittenIsNamedAndRunAgainWithFailed) {
  mount("size=8m");
  if (IsSkipped()) return;
  const std::string filler = (disk_ / "filler").string();
  const fs::path again = folder_ / "again";
  script_suite("[ -e " + again.string() + " ] || cat /dev/zero > " + filler +
               " 2>/dev/null\nhead -c 262144 /dev/zero | tr '\\0' '\\n'\necho speed: 5\n");
  const std::string out = (disk_ / "out").string();
  const CommandResult run = assay({"run", (folder_ / "suite.yaml").string(), "--out", out});
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  const fs::path folder = fs::canonical(disk_ / "out/latest");
  const std::string journal = read_file(folder / "journal.jsonl");
  EXPECT_THAT(journal, HasSubstr("\"status\":\"unrecorded\""));
  EXPECT_THAT(journal, HasSubstr("\"event\":\"run_end\""));
  fs::remove(filler);
  const CommandResult report = assay({"report", folder.string()});
  EXPECT_THAT(report.out, HasSubstr("rank0.out.log could not be written on"));
  EXPECT_THAT(report.out, HasSubstr("INCOMPLETE"));
  EXPECT_THAT(report.out, ::testing::Not(HasSubstr("killed")));
  write_file_atomic(again, "");
  const CommandResult resumed = assay({"run", "--resume", folder.string(), "--failed"});
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("VALID"));
}

TEST_F(OnItsOwnDisk, ALiveViewThatCannotBeWrittenDoesNotEndTheRun) {
  mount("size=4m");
  if (IsSkipped()) return;
  // From the first view on the disk is full for three more, and free again when the round ends.
  const std::string filler = (disk_ / "filler").string();
  const std::string live = (disk_ / "out/latest/live.json").string();
  script_suite("while [ ! -s " + live + " ]; do sleep 0.1; done\nsleep 0.5\ncat /dev/zero > " +
               filler + " 2>/dev/null\nsleep 3\n: > " + filler + "\n");
  const fs::path suite =
      write("full.yaml", "telemetry: {enabled: false}\n" + read_file(folder_ / "suite.yaml"));
  const CommandResult run = assay({"run", suite.string(), "--out", (disk_ / "out").string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("VALID"));
}

TEST_F(OnItsOwnDisk, AReadOnlyFolderIsAnEnvironmentError) {
  mount("size=1m", MS_RDONLY);
  if (IsSkipped()) return;
  const CommandResult run =
      assay({"run", script_suite("true\n").string(), "--out", disk_.string()});
  EXPECT_EQ(run.status.code, 3);
  EXPECT_THAT(run.err, HasSubstr("Read-only file system"));
  EXPECT_THAT(run.err, HasSubstr("--out"));
}

}  // namespace assay::e2e
