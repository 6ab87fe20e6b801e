#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "probe/check.h"
#include "unit/probe/fake_root.h"

namespace assay::probe {
namespace {

using ::testing::HasSubstr;

ProcessLimits generous() {
  return {{65536, 65536}, {100'000, 100'000}, {std::nullopt, std::nullopt}};
}

/// Asks little enough that the fake machine passes everything.
CheckOptions modest(const FakeRoot& root) {
  CheckOptions options;
  options.root = root.path();
  options.out_dir = root.path() / "results/not/yet/there";
  options.required_disk_bytes = 1;
  options.required_memory_bytes = 1 << 20;
  options.clock_synchronized = true;
  options.limits = generous();
  return options;
}

Check one(const CheckOptions& options, const std::string& id) {
  const std::vector<Check> checks = check_machine(options);
  const auto found = std::ranges::find(checks, id, &Check::id);
  return found == checks.end() ? Check{"", Level::fail, "there is no check " + id, ""} : *found;
}

TEST(Check, AFitMachinePassesEverything) {
  const FakeRoot root;
  const std::vector<Check> checks = check_machine(modest(root));
  for (const Check& check : checks)
    EXPECT_EQ(check.level, Level::pass) << check.id << ": " << check.seen;
  EXPECT_EQ(worst(checks), Level::pass);
  EXPECT_GE(checks.size(), 10U);
}

TEST(Check, TooLittleMemoryFailsWithTheNumbers) {
  const FakeRoot root;
  CheckOptions options = modest(root);
  options.required_memory_bytes = 9 << 20;
  const Check check = one(options, "memory");
  EXPECT_EQ(check.level, Level::fail);
  EXPECT_EQ(check.seen, "8.00 MiB available, 9.00 MiB needed");
  EXPECT_EQ(worst(check_machine(options)), Level::fail);
}

TEST(Check, TheCgroupsMemoryLimitCounts) {
  const FakeRoot root;
  root.file("proc/self/cgroup", "0::/job/step\n");
  root.file("sys/fs/cgroup/job/memory.max", "4194304\n");
  root.file("sys/fs/cgroup/job/step/memory.max", "max\n");
  CheckOptions options = modest(root);
  options.required_memory_bytes = 5 << 20;
  const Check check = one(options, "memory");
  EXPECT_EQ(check.level, Level::fail);
  EXPECT_THAT(check.seen, HasSubstr("4.00 MiB allowed by the cgroup"));
}

TEST(Check, DiskSpaceIsThatOfTheNearestExistingParent) {
  const FakeRoot root;
  CheckOptions options = modest(root);
  options.required_disk_bytes = 1ULL << 62;
  const Check check = one(options, "disk");
  EXPECT_EQ(check.level, Level::fail);
  EXPECT_THAT(check.seen, HasSubstr("free at " + root.path().string() + ", 4"));
}

TEST(Check, SwapInUseIsAWarning) {
  const FakeRoot root;
  root.file("proc/meminfo", "MemAvailable: 8192 kB\nSwapTotal: 2097152 kB\nSwapFree: 1048576 kB\n");
  const Check check = one(modest(root), "swap");
  EXPECT_EQ(check.level, Level::warn);
  EXPECT_EQ(check.seen, "1.00 GiB of 2.00 GiB swap in use");
}

TEST(Check, AGovernorOtherThanPerformanceIsAWarning) {
  const FakeRoot root;
  root.file("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n");
  const Check check = one(modest(root), "governor");
  EXPECT_EQ(check.level, Level::warn);
  EXPECT_EQ(check.seen, "performance, powersave");
  EXPECT_THAT(check.advice, HasSubstr("cpupower"));
}

TEST(Check, LoadFromElsewhereIsAWarning) {
  const FakeRoot root;
  root.file("proc/loadavg", "3.50 1.00 1.00 1/1 1\n");
  const Check check = one(modest(root), "load");
  EXPECT_EQ(check.level, Level::warn);
  EXPECT_EQ(check.seen, "load 3.50 on 4 CPUs");
}

TEST(Check, ACpuQuotaBelowTheVisibleCpusIsAWarning) {
  const FakeRoot root;
  root.file("proc/self/cgroup", "0::/\n");
  root.file("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(one(modest(root), "cpu-quota").level, Level::warn);
  EXPECT_EQ(one(modest(root), "cpu-quota").seen, "the cgroup allows 1.5 of 4 CPUs");
}

TEST(Check, ACpuQuotaOfCgroupVersionOneIsSeenToo) {
  const FakeRoot root;
  root.file("proc/self/cgroup", "4:cpu,cpuacct:/docker/abc\n");
  root.file("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "200000\n");
  root.file("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(one(modest(root), "cpu-quota").seen, "the cgroup allows 2 of 4 CPUs");
}

TEST(Check, MoreRanksThanUsableCpusIsAWarning) {
  const FakeRoot root;
  CheckOptions options = modest(root);
  options.procs = 4;
  EXPECT_EQ(one(options, "ranks-per-cpu").level, Level::pass);
  root.file("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-1,3\n");
  EXPECT_EQ(one(options, "ranks-per-cpu").level, Level::warn);
  EXPECT_EQ(one(options, "ranks-per-cpu").seen, "4 ranks on 3 usable CPUs");
}

TEST(Check, AnUnsynchronisedClockIsAWarning) {
  const FakeRoot root;
  CheckOptions options = modest(root);
  options.clock_synchronized = false;
  EXPECT_EQ(one(options, "clock").level, Level::warn);
  root.file("run/systemd/timesync/synchronized", "");
  EXPECT_EQ(one(options, "clock").level, Level::pass);
}

TEST(Check, ASlowClocksourceIsAWarning) {
  const FakeRoot root;
  const std::string file = "sys/devices/system/clocksource/clocksource0/current_clocksource";
  root.file(file, "tsc\n");
  EXPECT_EQ(one(modest(root), "clocksource").level, Level::pass);
  root.file(file, "hpet\n");
  EXPECT_EQ(one(modest(root), "clocksource").level, Level::warn);
}

TEST(Check, ManyRanksNeedManyOpenFiles) {
  const FakeRoot root;
  CheckOptions options = modest(root);
  options.procs = 512;
  options.limits->files = {1024, 4096};
  EXPECT_EQ(one(options, "nofile").level, Level::warn);
  EXPECT_EQ(one(options, "nofile").advice, "ulimit -n 2112");
  options.limits->files = {1024, 1024};
  EXPECT_EQ(one(options, "nofile").level, Level::fail);
  options.limits->files = {std::nullopt, std::nullopt};
  EXPECT_EQ(one(options, "nofile").level, Level::pass);
}

TEST(Check, LockedMemoryMattersOnlyWithDevices) {
  const FakeRoot root;
  CheckOptions options = modest(root);
  options.limits->memlock = {65536, 65536};
  EXPECT_EQ(one(options, "memlock").level, Level::pass);
  options.vendor = "nvidia";
  EXPECT_EQ(one(options, "memlock").level, Level::warn);
}

TEST(Check, DevicesAreCountedByTheVendorsCommand) {
  const FakeRoot root;
  CheckOptions options = modest(root);
  options.vendor = "nvidia";
  options.procs = 2;
  options.device_query = {root.program(
      "smi", "echo 'GPU 0: A100 (UUID: x)'; echo '  note'; echo 'GPU 1: A100 (UUID: y)'")};
  options.device_pattern = "^GPU [0-9]+:";
  EXPECT_EQ(one(options, "devices").level, Level::pass);
  EXPECT_EQ(one(options, "devices").seen, "2 nvidia devices for 2 ranks");
  options.procs = 3;
  EXPECT_EQ(one(options, "devices").level, Level::fail);
}

TEST(Check, AMissingFailingOrHangingDeviceCommandFails) {
  const FakeRoot root;
  CheckOptions options = modest(root);
  options.vendor = "nvidia";
  options.device_query = {"no-such-smi"};
  EXPECT_EQ(one(options, "devices").level, Level::fail);
  EXPECT_EQ(one(options, "devices").seen, "no-such-smi is not installed");
  options.device_query = {root.program("broken", "echo 'driver mismatch' >&2; exit 9")};
  EXPECT_THAT(one(options, "devices").seen, HasSubstr("ended with exit 9: driver mismatch"));
  options.device_query = {root.program("hanging", "exec sleep 100")};
  options.timeout = std::chrono::milliseconds(50);
  EXPECT_THAT(one(options, "devices").seen, HasSubstr("did not answer within 50 ms"));
}

TEST(Check, WithoutDevicesNoDevicesAreAskedFor) {
  const FakeRoot root;
  EXPECT_EQ(one(modest(root), "devices").seen, "there is no check devices");
}

TEST(Check, AContainerRuntimeIsAskedForOnlyWhenWanted) {
  const FakeRoot root;
  CheckOptions options = modest(root);
  EXPECT_EQ(one(options, "container").seen, "there is no check container");
  options.container_runtime = "no-such-runtime";
  EXPECT_EQ(one(options, "container").level, Level::fail);
  EXPECT_EQ(one(options, "container").seen, "no-such-runtime is not installed");
  options.container_runtime = "sh";
  EXPECT_EQ(one(options, "container").level, Level::pass);
}

TEST(Check, AnEmptyRootIsUnfitButNeverAnException) {
  const FakeRoot root;
  CheckOptions options = modest(root);
  options.root = root.path() / "nothing";
  EXPECT_NO_THROW({
    for (const Check& check : check_machine(options)) EXPECT_FALSE(check.seen.empty());
  });
}

TEST(Check, ThisMachineCanBeChecked) {
  CheckOptions options;
  options.out_dir = std::filesystem::temp_directory_path();
  EXPECT_GE(check_machine(options).size(), 10U);
}

TEST(Check, SurvivesJson) {
  const Check check{"disk", Level::warn, "a \"quoted\" thing", "do it"};
  const Check back = fields_from_json<Check>(fields_to_json(check), "check");
  EXPECT_EQ(back.id, check.id);
  EXPECT_EQ(back.level, check.level);
  EXPECT_EQ(back.seen, check.seen);
  EXPECT_EQ(back.advice, check.advice);
  const Json bad{{"id", "x"}, {"level", "BAD"}, {"seen", ""}};
  EXPECT_THROW(static_cast<void>(fields_from_json<Check>(Json::array(), "check")), Error);
  EXPECT_THROW(static_cast<void>(fields_from_json<Check>(bad, "check")), Error);
}

CheckOptions starting(const FakeRoot& root, const CommandUse& use) {
  CheckOptions options = modest(root);
  options.commands = {use};
  return options;
}

TEST(CheckCommands, AProgramInThePathAndAWritableFolderPass) {
  const FakeRoot root;
  const CheckOptions options = starting(root, {"a", "sh", root.path().string(), ""});
  EXPECT_EQ(one(options, "program").level, Level::pass);
  EXPECT_EQ(one(options, "program").seen, "sh can be executed");
  EXPECT_EQ(one(options, "workdir").level, Level::pass);
}

TEST(CheckCommands, AProgramThatIsNotThereFailsWithItsCase) {
  const FakeRoot root;
  CheckOptions options = starting(root, {"a", "no-such-trainer", "", ""});
  options.commands.push_back({"b", "no-such-trainer", "", ""});
  options.commands.push_back({"c", "/no/such/program", "", ""});
  const Check check = one(options, "program");
  EXPECT_EQ(check.level, Level::fail);
  EXPECT_EQ(check.seen,
            "/no/such/program does not exist (case c); no-such-trainer is not in the PATH (case a, "
            "b)");
  EXPECT_THAT(check.advice, HasSubstr("install"));
}

TEST(CheckCommands, ThePathOfTheCaseCounts) {
  const FakeRoot root;
  const Check check = one(starting(root, {"a", "sh", "", "/no/such/folder"}), "program");
  EXPECT_EQ(check.level, Level::fail);
}

TEST(CheckCommands, AProgramIsLookedForFromTheWorkingFolder) {
  const FakeRoot root;
  root.file("work/train.sh", "#!/bin/sh\n");
  const std::string folder = (root.path() / "work").string();
  const CheckOptions options = starting(root, {"a", "./train.sh", folder, ""});
  EXPECT_EQ(one(options, "program").seen,
            folder + "/./train.sh is not an executable file (case a)");
  std::filesystem::permissions(folder + "/train.sh", std::filesystem::perms::owner_all);
  EXPECT_EQ(one(options, "program").level, Level::pass);
}

TEST(CheckCommands, AWorkingFolderThatIsNotThereFails) {
  const FakeRoot root;
  const CheckOptions options = starting(root, {"a", "./x", "/no/such/folder", ""});
  EXPECT_EQ(one(options, "workdir").level, Level::fail);
  EXPECT_EQ(one(options, "workdir").seen, "/no/such/folder does not exist (case a)");
  EXPECT_THAT(one(options, "workdir").advice, HasSubstr("make the folder"));
  root.file("file", "");
  EXPECT_THAT(one(starting(root, {"a", "sh", (root.path() / "file").string(), ""}), "workdir").seen,
              HasSubstr("is not a folder"));
}

TEST(CheckCommands, AWorkingFolderThatCannotBeWrittenIsAWarning) {
  const FakeRoot root;
  const CheckOptions options = starting(root, {"a", "/bin/sh", "/", ""});
  // Root may write everywhere: a process of somebody else looks.
  const pid_t other = ::fork();
  if (other == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(100);
    const Check check = one(options, "workdir");
    ::_exit(check.level == Level::warn && check.seen.starts_with("/ is not writable") ? 0 : 1);
  }
  int status = 0;
  ::waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(CheckCommands, NothingIsSaidWithoutCommands) {
  const FakeRoot root;
  EXPECT_EQ(one(modest(root), "program").seen, "there is no check program");
}

}  // namespace
}  // namespace assay::probe
