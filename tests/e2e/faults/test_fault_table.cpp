// The faults of docs/reliability.md on every launcher: each is bounded, names its culprit, ends
// with the right exit code, leaves no process, and the run resumes.

#include <fstream>
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include "core/files.h"
#include "core/text.h"
#include "e2e/faults/fault_site.h"
#include "needs.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

namespace {

const char* name_of(Launcher launcher) {
  switch (launcher) {
    case Launcher::local:
      return "Local";
    case Launcher::ssh:
      return "Ssh";
    case Launcher::head:
      return "Head";
    case Launcher::slurm:
      return "Slurm";
    case Launcher::slurm_head:
      return "SlurmHead";
  }
  return "";
}

// An agent that is stopped for a minute is killed by its guardian; one behind a cut link ends
// itself after half a minute.
constexpr auto kGoneWithin = 100s;
constexpr auto kBound = 100s;

}  // namespace

/// One case of two nodes, a rank on each; with `launch: head` one rank on the first. The fault
/// happens on the second node, or to the only rank.
class FaultTable : public AssayTest, public ::testing::WithParamInterface<Launcher> {
 protected:
  void SetUp() override {
    AssayTest::SetUp();
    site_ = make_site(GetParam(), folder_);
    if (!site_->missing().empty()) GTEST_SKIP() << site_->missing();
    write("rank.sh",
          "echo started\ncd " + folder_.string() +
              "\ntest -e go && exit 0\n"
              "if test -e fill; then test \"$RANK\" = 0 && test \"$WORLD_SIZE\" = 2 || {\n"
              "  head -c 67108864 /dev/zero > \"$(cat fill)/filler\" 2> /dev/null\n"
              "  head -c 1048576 /dev/zero | tr '\\0' '\\n'; }; exit 0; fi\n"
              "until test -e release; do sleep 0.2; done\n");
  }
  [[nodiscard]] bool head() const {
    return GetParam() == Launcher::head || GetParam() == Launcher::slurm_head;
  }
  [[nodiscard]] int ranks_expected() const { return head() ? 1 : 2; }
  /// The node on which the fault happens to a rank.
  [[nodiscard]] int rank_node() const { return head() ? 0 : 1; }
  [[nodiscard]] std::vector<pid_t> ranks() const {
    std::vector<pid_t> found = processes_with((folder_ / "rank.sh").string());
    // What a rank starts has its command line until it has become another program.
    const std::set<pid_t> all(found.begin(), found.end());
    std::erase_if(found, [&](pid_t pid) { return all.contains(parent_of(pid)); });
    return found;
  }
  /// The rank to which faults happen; -1: there is none.
  [[nodiscard]] pid_t last_rank() const {
    for (const pid_t pid : ranks())
      if (head() || read_file_or_empty("/proc/" + std::to_string(pid) + "/environ")
                            .find(std::string("\0RANK=1\0", 8)) != std::string::npos)
        return pid;
    return -1;
  }

  void write_suite(const std::string& limits = "{grace: 500ms}") const {
    write("suite.yaml", "name: s\n" + site_->cluster() +
                            "cases:\n  - name: probe\n    nodes: 2\n    command: [/bin/sh, " +
                            (folder_ / "rank.sh").string() + "]\n    limits: " + limits +
                            "\n    rules: {min-steps: off, min-duration: off, "
                            "perflog-present: off}\n" +
                            (head() ? "    launch: head\n" : ""));
  }
  /// Starts a run whose ranks wait.
  [[nodiscard]] pid_t start_waiting(const std::string& limits = "{grace: 500ms}") {
    write_suite(limits);
    const pid_t pid = start({"run", (folder_ / "suite.yaml").string()});
    EXPECT_TRUE(eventually(
        [&] {
          return ranks().size() == static_cast<std::size_t>(ranks_expected()) && last_rank() > 1;
        },
        60s))
        << read_file_or_empty(folder_ / "assay.log");
    return pid;
  }
  void expect_end(pid_t pid, int code, const std::string& status, const std::string& culprit) {
    const auto end = wait(pid, kBound);
    ASSERT_TRUE(end) << "assay still waits";
    EXPECT_EQ(end->code, code) << read_file(folder_ / "assay.log");
    const Json round = result()["cases"][0]["rounds"][0];
    EXPECT_EQ(round["status"], status) << round.dump();
    EXPECT_THAT(round["reason"].get<std::string>(), HasSubstr(culprit));
  }
  void expect_nothing_left() const {
    EXPECT_TRUE(eventually([&] { return ranks().empty(); }, kGoneWithin)) << "a rank was left";
    for (const int node : {0, 1})
      EXPECT_TRUE(eventually(
          [&] {
            return site_->agents(node, "assay-agent").empty() &&
                   site_->agents(node, "assay-guardian").empty();
          },
          kGoneWithin))
          << "an agent was left on " << site_->host(node);
  }
  void expect_resume_completes(std::vector<std::string> more = {}) {
    write("go", "");
    more.insert(more.begin(), {"run", "--resume", latest().string()});
    const CommandResult resumed = assay(more, kBound);
    EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
    EXPECT_EQ(result()["cases"][0]["rounds"][0]["status"], "completed");
    expect_nothing_left();
  }
  void kill_agent(int node, int signal, bool guardian_too = false) const {
    std::vector<pid_t> processes = site_->agents(node, "assay-agent");
    EXPECT_EQ(processes.size(), 1u);
    if (guardian_too)
      for (const pid_t guardian : site_->agents(node, "assay-guardian"))
        processes.push_back(guardian);
    if (guardian_too)  // neither sees the other's end
      for (const pid_t pid : processes) send_signal(pid, SIGSTOP);
    for (const pid_t pid : processes) send_signal(pid, signal);
  }

  std::unique_ptr<FaultSite> site_;
};

TEST_P(FaultTable, ARankIsKilled) {
  const pid_t pid = start_waiting();
  send_signal(last_rank(), SIGKILL);
  expect_end(
      pid, 5, "failed",
      "rank " + std::to_string(rank_node()) + " on " + site_->host(rank_node()) + ": SIGKILL");
  expect_nothing_left();
  expect_resume_completes({"--failed"});
}

TEST_P(FaultTable, ARankHangs) {
  const pid_t pid = start_waiting("{stall: 4s, time: 10m, grace: 500ms}");
  send_signal(last_rank(), SIGSTOP);
  expect_end(pid, 5, "stalled",
             "rank " + std::to_string(rank_node()) + " on " + site_->host(rank_node()));
  expect_nothing_left();
  expect_resume_completes({"--failed"});
}

TEST_P(FaultTable, AnAgentIsKilled) {
  const pid_t pid = start_waiting();
  kill_agent(1, SIGKILL);
  expect_end(pid, 5, "lost", "the agent on " + site_->host(1) + " was lost");
  expect_nothing_left();
  expect_resume_completes();
}

TEST_P(FaultTable, AnAgentIsStopped) {
  const pid_t pid = start_waiting();
  kill_agent(1, SIGSTOP);
  expect_end(pid, 5, "lost", "the agent on " + site_->host(1) + " was lost");
  expect_nothing_left();
  expect_resume_completes();
}

TEST_P(FaultTable, AnAgentAndItsGuardianAreStopped) {
  const pid_t pid = start_waiting();
  kill_agent(1, SIGSTOP, /*guardian_too=*/true);
  expect_end(pid, 5, "lost", "the agent on " + site_->host(1) + " was lost");
  expect_nothing_left();
  expect_resume_completes();
}

TEST_P(FaultTable, TheControllerIsKilled) {
  const pid_t pid = start_waiting();
  send_signal(pid, SIGKILL);
  expect_nothing_left();
  expect_resume_completes();
}

TEST_P(FaultTable, ControllerAndAgentAreKilled) {
  const pid_t pid = start_waiting();
  kill_agent(1, SIGKILL, /*guardian_too=*/true);
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 10s));
  // A rank may be left of which nobody knows but its mark: resuming ends it.
  expect_resume_completes();
}

TEST_P(FaultTable, TheControllerIsKilledWhileAnAgentAndItsGuardianAreStopped) {
  const pid_t pid = start_waiting();
  kill_agent(1, SIGSTOP, /*guardian_too=*/true);
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 10s));
  // They cannot notice it: resuming ends them.
  expect_resume_completes();
}

INSTANTIATE_TEST_SUITE_P(On, FaultTable,
                         ::testing::Values(Launcher::local, Launcher::ssh, Launcher::head,
                                           Launcher::slurm, Launcher::slurm_head),
                         [](const auto& with) { return name_of(with.param); });

/// The second node's agent is stopped with its guardian after its first line, as long as the file
/// "stop" is there.
class AgentsThatAreStopped : public FaultTable {
 protected:
  void SetUp() override {
    FaultTable::SetUp();
    use_dynamic_agent();
    write("bin/assay-agent", R"(#!/bin/sh
agent=)" ASSAY_BIN_DIR R"(/assay-agent
cd )" + folder_.string() + R"sh( || exit
case "$1 $2 $SLURM_NODEID" in "--node 1 "* | "--node slurm 1") ;; *) exec $agent "$@" ;; esac
[ -e stop ] || exec $agent "$@"
mkfifo said.$$
(
  exec < said.$$
  read -r begun
  half=
  while [ -z "$half" ]; do
    for child in $(cat /proc/$$/task/$$/children); do
      [ "$(readlink /proc/$child/exe)" != $agent ] || half=$child
    done
  done
  kill -STOP $$ $half
  echo $$ $half > stopped.new
  mv stopped.new stopped
  echo "$begun"
  exec cat 3>&1 > /dev/null
) &
exec $agent "$@" > said.$$
)sh");
    fs::permissions(folder_ / "bin/assay-agent", fs::perms::owner_all);
    write("stop", "");
  }
};

TEST_P(AgentsThatAreStopped, BeforeTheirHelloAreNamedAndEnded) {
  write_suite();
  const pid_t pid = start({"run", (folder_ / "suite.yaml").string()});
  ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "stopped"); }, 60s))
      << read_file_or_empty(folder_ / "assay.log");
  const auto end = wait(pid, kBound);
  ASSERT_TRUE(end) << "assay still waits";
  const std::string said = read_file(folder_ / "assay.log");
  EXPECT_EQ(end->code, 4) << said;
  EXPECT_THAT(said, HasSubstr("its agent began, and said nothing more in"));
  const std::string stopped = read_file(folder_ / "stopped");
  for (const std::string_view one : split(trim(stopped), ' '))
    EXPECT_TRUE(eventually([&] { return !fs::exists("/proc/" + std::string(one)); }, kGoneWithin))
        << one << " was left: " << stopped;
  fs::remove(folder_ / "stop");
  expect_resume_completes();
}

INSTANTIATE_TEST_SUITE_P(On, AgentsThatAreStopped,
                         ::testing::Values(Launcher::local, Launcher::ssh, Launcher::slurm),
                         [](const auto& with) { return name_of(with.param); });

/// The disk that the rank's node writes to is full, and free again later.
class FullDisks : public FaultTable {
 protected:
  void SetUp() override {
    fs::create_directories(disk_);
    mounted_ = ::mount("assay-test", disk_.c_str(), "tmpfs", 0, "size=32m") == 0;
    if (!mounted_) GTEST_SKIP() << needs::root("to mount a tmpfs");
    FaultTable::SetUp();
  }
  void TearDown() override {
    FaultTable::TearDown();
    site_.reset();
    if (mounted_) ::umount2(disk_.c_str(), MNT_DETACH);
  }

  const fs::path disk_ = disk_of(GetParam(), folder_, rank_node());
  bool mounted_ = false;
};

TEST_P(FullDisks, AreNamedAndTheRoundIsRunAgain) {
  write_suite();
  write("fill", disk_.string());
  const CommandResult run = assay({"run", (folder_ / "suite.yaml").string()}, kBound);
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  fs::remove(disk_ / "filler");
  fs::remove(folder_ / "fill");
  const CommandResult report = assay({"report", latest().string()});
  EXPECT_THAT(report.out, HasSubstr("rank" + std::to_string(rank_node()) + ".out.log"));
  EXPECT_THAT(report.out, HasSubstr(site_->host(rank_node())));
  EXPECT_THAT(report.out, HasSubstr("No space left on device"));
  EXPECT_THAT(report.out, HasSubstr("INCOMPLETE"));
  expect_nothing_left();
  expect_resume_completes({"--failed"});
}

INSTANTIATE_TEST_SUITE_P(On, FullDisks,
                         ::testing::Values(Launcher::local, Launcher::ssh, Launcher::head,
                                           Launcher::slurm, Launcher::slurm_head),
                         [](const auto& with) { return name_of(with.param); });

/// What needs several machines: on one there is neither a link nor another clock.
class FaultsBetweenMachines : public FaultTable {};

TEST_P(FaultsBetweenMachines, ALinkIsCutForTenSeconds) {
  const pid_t pid = start_waiting();
  site_->cut_link(1);
  EXPECT_FALSE(wait(pid, 10s)) << "given up too early: " << read_file(folder_ / "assay.log");
  site_->restore_link(1);
  // Only when the node has been heard again do the ranks go on.
  const auto noticed = [&] {
    return read_file_or_empty(latest() / "journal.jsonl").find("\"gap\"") != std::string::npos;
  };
  EXPECT_TRUE(eventually(noticed, 30s)) << "a cut of ten seconds leaves a trace";
  write("release", "");
  const auto end = wait(pid, kBound);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 0) << read_file(folder_ / "assay.log");
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["status"], "completed");
  EXPECT_THAT(read_file(latest() / "journal.jsonl"), HasSubstr(site_->host(1)));
  expect_nothing_left();
}

TEST_P(FaultsBetweenMachines, ALinkIsCutForGood) {
  const pid_t pid = start_waiting();
  site_->cut_link(1);
  expect_end(pid, 5, "lost", "the agent on " + site_->host(1) + " was lost");
  expect_nothing_left();
  site_->restore_link(1);
  expect_resume_completes();
}

TEST_P(FaultsBetweenMachines, AClockIsWrong) {
  use_dynamic_agent();
  site_->set_clock_wrong(1, 3600);
  write("go", "");
  write_suite();
  const CommandResult run = assay({"run", (folder_ / "suite.yaml").string()}, kBound);
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_THAT(run.out + run.err, HasSubstr("the clock of " + site_->host(1)));
  EXPECT_THAT(run.out + run.err, ::testing::Not(HasSubstr("the clock of " + site_->host(0))));
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["status"], "completed");
  EXPECT_THAT(round.dump(), HasSubstr(site_->host(1) + ": 3600.0 s ahead"));
  expect_nothing_left();
  expect_resume_completes();
}

INSTANTIATE_TEST_SUITE_P(On, FaultsBetweenMachines,
                         ::testing::Values(Launcher::ssh, Launcher::head, Launcher::slurm,
                                           Launcher::slurm_head),
                         [](const auto& with) { return name_of(with.param); });

}  // namespace assay::e2e
