#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "telemetry/machine_watch.h"
#include "temporary_folder.h"

namespace assay::telemetry {
namespace {

namespace fs = std::filesystem;
using ::testing::DoubleNear;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ProcessTimes process(pid_t pid, pid_t parent, double own_s, double children_s = 0,
                     std::uint64_t started = 1) {
  return {pid, parent, "p" + std::to_string(pid), false, started, own_s, children_s, 0};
}

double used(ProgramLedger& ledger, pid_t pid) {
  return ledger.entries().at(pid).used_s;
}

TEST(ProgramLedger, CountsFromTheFirstListingOn) {
  ProgramLedger ledger;
  ledger.observe(std::vector{process(10, 1, 100)});
  ledger.observe(std::vector{process(10, 1, 103)});
  EXPECT_EQ(used(ledger, 10), 3);
}

TEST(ProgramLedger, CountsAllOfAProcessThatBeganLater) {
  ProgramLedger ledger;
  ledger.observe({});
  ledger.observe(std::vector{process(10, 1, 3, 2)});
  EXPECT_EQ(used(ledger, 10), 5);
}

TEST(ProgramLedger, FindsTheTimeOfAChildThatWasNeverSeenInItsParent) {
  ProgramLedger ledger;
  ledger.observe(std::vector{process(10, 1, 1, 50)});
  ledger.observe(std::vector{process(10, 1, 1, 57)});
  EXPECT_EQ(used(ledger, 10), 7);
}

TEST(ProgramLedger, DoesNotBlameAParentForTheEarlierLifeOfAChildThatEnded) {
  ProgramLedger ledger;
  ledger.observe(std::vector{process(10, 1, 1), process(11, 10, 3600)});
  ledger.observe(std::vector{process(10, 1, 1, 3600.5)});
  EXPECT_EQ(used(ledger, 10), 0.5);
}

TEST(ProgramLedger, DoesNotBlameAGrandparentEither) {
  ProgramLedger ledger;
  ledger.observe(std::vector{process(10, 1, 1), process(11, 10, 5), process(12, 11, 3600)});
  ledger.observe(std::vector{process(10, 1, 1, 3605.25)});
  EXPECT_EQ(used(ledger, 10), 0.25);
}

TEST(ProgramLedger, DoesNotBlameTheFirstProcessForOrphans) {
  ProgramLedger ledger;
  ledger.observe(std::vector{process(1, 0, 1, 50)});
  ledger.observe(std::vector{process(1, 0, 1.5, 900)});
  EXPECT_EQ(used(ledger, 1), 0.5);
}

TEST(ProgramLedger, KeepsWhatAProcessUsedThatEnded) {
  ProgramLedger ledger;
  ledger.observe(std::vector{process(11, 10, 1)});
  ledger.observe(std::vector{process(11, 10, 4)});
  ledger.observe({});
  ASSERT_THAT(ledger.ended(), SizeIs(1));
  EXPECT_EQ(ledger.ended()[0].used_s, 3);
}

TEST(ProgramLedger, TellsAPidThatWasGivenAwayAgainByItsStart) {
  ProgramLedger ledger;
  ledger.observe(std::vector{process(11, 10, 100, 0, 5)});
  ledger.observe(std::vector{process(11, 10, 2, 0, 900)});
  EXPECT_EQ(used(ledger, 11), 2);
}

TEST(ProgramLedger, ForgetsTheSmallOfManyThatEnded) {
  ProgramLedger ledger;
  ledger.observe({});
  for (int i = 0; i < 5000; ++i) {
    ledger.observe(std::vector{process(100 + i, 1, i == 7 ? 1000 : 0.01)});
    ledger.observe({});
  }
  EXPECT_LT(ledger.ended().size(), 4096U);
  double most = 0;
  for (const auto& entry : ledger.ended()) most = std::max(most, entry.used_s);
  EXPECT_EQ(most, 1000);
}

constexpr std::int64_t kSeconds = 1'000'000'000;

// A machine of two CPUs as files; times in CPU-seconds.
class Machine : public ::testing::Test {
 protected:
  struct Process {
    pid_t parent = 1;
    std::string name;
    double own_s = 0;
    double children_s = 0;
    std::uint64_t started = 10;
    std::string environ{};
    bool kernel = false;
    int processor = 0;
  };

  void SetUp() override {
    write("proc/loadavg", "0.10 0.20 0.30 1/100 4321\n");
    write("proc/sys/kernel/random/boot_id", "abc\n");
    write("etc/passwd", "root:x:0:0::/root:/bin/sh\n");
    processes_[100] = {1, "assay"};
    processes_[101] = {100, "assay-agent"};
    processes_[1] = {0, "init"};
    cpu_time(0, 0);
  }

  // All of the machine: what was used since boot, and stolen; the rest was idle.
  void cpu_time(double used_s, double stolen_s, double elapsed_s = 0) {
    const auto ticks = [](double s) { return static_cast<long>(s * 100 + 0.5); };
    std::string text = "cpu  1 2 3 4 5 6 7 8 9 10\n";
    for (const int cpu : {0, 1}) {
      const double idle = std::max(0.0, elapsed_s - (used_s + stolen_s) / 2);
      text += "cpu" + std::to_string(cpu) + " " + std::to_string(ticks(used_s / 4)) + " 0 " +
              std::to_string(ticks(used_s / 4)) + " " + std::to_string(ticks(idle)) + " 0 0 0 " +
              std::to_string(ticks(stolen_s / 2)) + " 0 0\n";
    }
    write("proc/stat", text + "intr 1\n");
  }

  void write(const fs::path& name, const std::string& text) const {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }

  void write_processes() const {
    for (const auto& entry : fs::directory_iterator(folder_.path() / "proc"))
      if (std::isdigit(static_cast<unsigned char>(entry.path().filename().string()[0])) != 0)
        fs::remove_all(entry.path());
    for (const auto& [pid, p] : processes_) {
      const auto ticks = [](double s) { return std::to_string(static_cast<long>(s * 100 + 0.5)); };
      const std::string folder = "proc/" + std::to_string(pid);
      // 52 fields, as proc(5) numbers them.
      write(folder + "/stat",
            std::to_string(pid) + " (" + p.name + ") R " + std::to_string(p.parent) + " 1 1 0 -1 " +
                (p.kernel ? "2129984" : "4194304") + " 0 0 0 0 " + ticks(p.own_s) + " 0 " +
                ticks(p.children_s) + " 0 20 0 1 0 " + std::to_string(p.started) +
                " 1000 10 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 17 " +
                std::to_string(p.processor) + " 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
      write(folder + "/environ", p.environ);
    }
  }

  MachineWatch begin(bool ranks_elsewhere = false) {
    write_processes();
    MachineWatch::Setup setup;
    setup.round_id = "run/case/1-ab";
    setup.ranks = 2;
    setup.ranks_elsewhere = ranks_elsewhere;
    setup.root = folder_.path();
    setup.self = 101;
    setup.cpus = {0, 1};
    setup.own_s = [this] { return own_s_; };
    return {std::move(setup), 0};
  }
  MachineUse end(MachineWatch& watch, double seconds) {
    write_processes();
    return watch.finish(static_cast<std::int64_t>(seconds * kSeconds));
  }

  testing::TemporaryFolder folder_;
  std::map<pid_t, Process> processes_;
  double own_s_ = 0;  // of the agent and what it has waited for
};

TEST_F(Machine, TellsTheRoundsTimeFromThatOfOthers) {
  processes_[50] = {1, "chrome", 100};
  MachineWatch watch = begin();
  processes_[200] = {101, "rank", 8, 1, 20};  // lives, and has waited for a child
  processes_[50].own_s += 5;
  processes_[100].own_s += 0.25;  // the controller
  own_s_ = 2;                     // ranks that ended
  cpu_time(16.25, 0, 10);
  const MachineUse use = end(watch, 10);
  EXPECT_EQ(use.boot_id, "abc");
  EXPECT_EQ(use.cpus, 2);
  EXPECT_EQ(use.seconds, 10);
  EXPECT_NEAR(use.busy_s, 16.25, 0.05);
  EXPECT_NEAR(use.own_s, 11, 1e-9);
  EXPECT_NEAR(use.starter_s, 0.25, 1e-9);
  EXPECT_EQ(use.starter_pid, 100);
  EXPECT_FALSE(use.own_elsewhere);
  EXPECT_EQ(watch.own_processes(), std::vector<pid_t>{200});
  ASSERT_THAT(use.others, SizeIs(1));
  EXPECT_EQ(use.others[0].name, "chrome");
  EXPECT_EQ(use.others[0].pid, 50);
  EXPECT_NE(use.others[0].user, "");
  EXPECT_NEAR(use.others[0].cpu_s, 5, 1e-9);
}

TEST_F(Machine, CountsProcessesOfOneProgramTogetherAndTheBusiestProgramsFirst) {
  MachineWatch watch = begin();
  for (pid_t pid = 300; pid < 310; ++pid)
    processes_[pid] = {1, "cc1plus", 1.0 + (pid == 304), 0, 20};
  for (pid_t pid = 400; pid < 408; ++pid)
    processes_[pid] = {1, "tool" + std::to_string(pid), 1, 0, 20};
  cpu_time(20, 0, 10);
  const MachineUse use = end(watch, 10);
  ASSERT_THAT(use.others, SizeIs(5));  // no more
  EXPECT_EQ(use.others[0].name, "cc1plus");
  EXPECT_EQ(use.others[0].processes, 10);
  EXPECT_EQ(use.others[0].pid, 304);
  EXPECT_NEAR(use.others[0].cpu_s, 11, 1e-9);
  EXPECT_NEAR(use.named_s, 19, 1e-9);
}

TEST_F(Machine, DoesNotNameAnotherAgentsRanksOfTheSameRun) {
  MachineWatch watch = begin();
  processes_[110] = {100, "assay-agent", 0.5, 3, 20};
  processes_[210] = {110, "rank", 8, 0, 20};
  cpu_time(12, 0, 10);
  EXPECT_THAT(end(watch, 10).others, IsEmpty());
}

TEST_F(Machine, KnowsRanksThatADaemonRunsByTheirEnvironment) {
  MachineWatch watch = begin();
  processes_[60] = {1, "containerd-shim", 0, 4, 20};
  processes_[210] = {60, "train", 8, 0, 20, std::string("A=1\0ASSAY_ROUND_ID=run/case/1-ab\0", 33)};
  processes_[211] = {1, "hog", 2, 0, 20, std::string("ASSAY_ROUND_ID=run/case/1-abc\0", 30)};
  cpu_time(14, 0, 10);
  const MachineUse use = end(watch, 10);
  EXPECT_TRUE(use.own_elsewhere);
  EXPECT_EQ(watch.own_processes(), std::vector<pid_t>{210});
  ASSERT_THAT(use.others, SizeIs(1));
  EXPECT_EQ(use.others[0].name, "hog");
  EXPECT_NEAR(use.named_s, 2, 1e-9);
}

TEST_F(Machine, NamesWhoElseComputesOnADeviceOfTheRound) {
  MachineWatch watch = begin();
  processes_[200] = {101, "rank", 1, 0, 20};
  processes_[50] = {1, "python3", 1, 0, 5};
  processes_[51] = {1, "nvidia-cuda-mps", 1, 0, 5};
  write_processes();
  watch.device_processes(0, {200, 50, 51, 99999});
  watch.device_processes(0, {200, 50});
  watch.device_processes(1, {50});  // not a device of the round
  const MachineUse use = end(watch, 10);
  ASSERT_TRUE(use.device_users);
  ASSERT_THAT(*use.device_users, SizeIs(1));
  EXPECT_EQ(use.device_users->front().device, 0);
  EXPECT_EQ(use.device_users->front().name, "python3");
  EXPECT_EQ(use.device_users->front().pid, 50);
}

TEST_F(Machine, KnowsNothingAboutDevicesThatTheRoundWasNotSeenOn) {
  MachineWatch watch = begin();
  processes_[50] = {1, "python3", 1, 0, 5};
  write_processes();
  watch.device_processes(0, {50});
  EXPECT_FALSE(end(watch, 10).device_users);
}

TEST_F(Machine, LeavesKernelThreadsToThemselves) {
  processes_[2] = {0, "kthreadd", 0, 0, 1, "", true};
  processes_[30] = {2, "kworker/0:1", 1, 0, 1, "", true};
  MachineWatch watch = begin();
  processes_[30].own_s += 3;
  const MachineUse use = end(watch, 10);
  EXPECT_NEAR(use.kernel_s, 3, 1e-9);
  EXPECT_THAT(use.others, IsEmpty());
}

TEST_F(Machine, CountsNeitherIdleNorStolenTimeAsWork) {
  MachineWatch watch = begin();
  cpu_time(4, 3, 10);
  const MachineUse use = end(watch, 10);
  EXPECT_NEAR(use.busy_s, 4, 0.05);
  EXPECT_NEAR(use.steal_s, 3, 0.02);
}

TEST_F(Machine, SaysHowItWasBeforeTheRound) {
  write("proc/loadavg", "3.25 2.00 1.00 4/100 4321\n");
  MachineWatch watch = begin();
  const MachineUse use = end(watch, 1);
  EXPECT_EQ(use.load, 3.25);
  EXPECT_EQ(use.runnable, 3);  // the fourth is the agent itself
}

TEST_F(Machine, ReadsPressureSwapAndThrottling) {
  const auto set = [&](int at) {
    write("proc/pressure/memory",
          "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + std::to_string(1000 + at * 500'000) +
              "\nfull avg10=0.00 total=7\n");
    write("proc/vmstat", "pgpgin 5\npswpin " + std::to_string(10 + at * 3) + "\npswpout " +
                             std::to_string(at) + "\n");
    write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_total_time_ms",
          std::to_string(100 + 250 * at) + "\n");
    write("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_total_time_ms", "5\n");
  };
  set(0);
  MachineWatch watch = begin();
  set(1);
  const MachineUse use = end(watch, 10);
  EXPECT_THAT(use.memory_stalled_s.value(), DoubleNear(0.5, 1e-9));
  EXPECT_EQ(use.swapped_bytes.value(), 4U * static_cast<unsigned>(::sysconf(_SC_PAGESIZE)));
  EXPECT_THAT(use.throttled_s.value(), DoubleNear(0.25, 1e-9));
}

TEST_F(Machine, DoesNotKnowWhatTheKernelDoesNotTell) {
  MachineWatch watch = begin();
  const MachineUse use = end(watch, 1);
  EXPECT_FALSE(use.memory_stalled_s);
  EXPECT_FALSE(use.swapped_bytes);
  EXPECT_FALSE(use.throttled_s);
}

TEST_F(Machine, SurvivesFilesThatAreNotWhatTheyShouldBe) {
  write("proc/loadavg", "no numbers");
  write("proc/stat", "cpu0 x y z\ncpu99999999999 1 2 3\n");
  write("proc/pressure/memory", "some total=many\n");
  write("proc/300/stat", "300 (torn");
  write("proc/301/stat", ") ( 1 2 3");
  MachineWatch::Setup setup;
  setup.root = folder_.path();
  setup.self = 101;
  setup.cpus = {0, 1};
  MachineWatch watch(std::move(setup), 0);
  const MachineUse use = watch.finish(kSeconds);
  EXPECT_EQ(use.busy_s, 0);
  EXPECT_FALSE(use.memory_stalled_s);
}

TEST(ThisMachine, IsSeenWithItsProcesses) {
  const auto all = read_processes();
  const auto self = std::ranges::find(all, ::getpid(), &ProcessTimes::pid);
  ASSERT_NE(self, all.end());
  EXPECT_EQ(self->parent, ::getppid());
  EXPECT_FALSE(self->kernel);
}

}  // namespace
}  // namespace assay::telemetry
