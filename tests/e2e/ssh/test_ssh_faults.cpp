// Faults during rounds on hosts over a real sshd on loopback (docs/reliability.md).

#include <fstream>

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include "core/files.h"
#include "e2e/ssh_hosts.h"
#include "needs.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class SshFaults : public SshTest {
 protected:
  // Tests run side by side: each knows its own processes.
  const std::string marker_ = "62." + std::to_string(::getpid());

  void TearDown() override {
    SshTest::TearDown();
    EXPECT_TRUE(eventually([this] { return processes_with("sleep " + marker_).empty(); }));
    if (!disk_.empty()) ::umount2(disk_.c_str(), MNT_DETACH);
  }

  /// A suite of one case "probe" on two hosts, one rank each.
  fs::path suite(const std::string& command, const std::string& more = {}) const {
    return write("suite.yaml", "name: s\n" + sshd_.cluster(2) +
                                   "cases:\n  - name: probe\n    nodes: 2\n"
                                   "    limits: {grace: 500ms}\n    command: " +
                                   command +
                                   "\n    rules: {min-steps: off, min-duration: off, "
                                   "perflog-present: off}\n" +
                                   more);
  }
  /// Ranks that say that they began and sleep, unless the file "again" exists.
  fs::path sleepers() const {
    return suite("[/bin/sh, -c, 'echo started; touch " + (folder_ / "rank").string() +
                 "$RANK; test -e " + (folder_ / "again").string() + " || exec sleep " + marker_ +
                 "']");
  }
  [[nodiscard]] pid_t start_and_wait_for_sleepers() {
    const pid_t pid = start({"run", sleepers().string()});
    EXPECT_TRUE(eventually([&] { return processes_with("sleep " + marker_).size() == 2; }, 30s))
        << read_file_or_empty(folder_ / "assay.log");
    return pid;
  }
  [[nodiscard]] pid_t sleeper(int rank) const {
    const std::string variable = '\0' + ("RANK=" + std::to_string(rank)) + '\0';
    pid_t found = -1;
    // A process that becomes another program has no environment for a moment.
    (void)eventually([&] {
      for (const pid_t pid : processes_with("sleep " + marker_)) {
        const std::string environment =
            '\0' + read_file_or_empty("/proc/" + std::to_string(pid) + "/environ");
        if (environment.find(variable) != std::string::npos) found = pid;
      }
      return found > 0;
    });
    return found;
  }
  [[nodiscard]] fs::path log_of(int rank) const {
    return latest() / "probe/round1" /
           (SshDaemon::host(rank + 1) + "_noderank" + std::to_string(rank)) /
           ("rank" + std::to_string(rank) + ".out.log");
  }
  void expect_resume_completes() const {
    std::ofstream(folder_ / "again") << "go";
    const CommandResult resumed = assay({"run", "--resume", latest().string()});
    EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
  }
  /// The second host keeps what it keeps on a disk of its own.
  void give_second_host_a_disk(const std::string& size) {
    const fs::path folder = sshd_.cache() / SshDaemon::host(2);
    fs::create_directories(folder);
    if (::mount("assay-test", folder.c_str(), "tmpfs", 0, ("size=" + size).c_str()) != 0)
      GTEST_SKIP() << needs::root("to mount a tmpfs");
    disk_ = folder;
  }

  fs::path disk_;
};

TEST_F(SshFaults, ARankKilledFromOutsideIsNamedAndBothLogsAreKept) {
  const pid_t pid = start_and_wait_for_sleepers();
  const pid_t rank = sleeper(1);
  ASSERT_GT(rank, 0);
  send_signal(rank, SIGKILL);
  const auto status = wait(pid, 40s);
  ASSERT_TRUE(status) << "assay still waits for a dead rank";
  EXPECT_EQ(status->code, 5);
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["status"], "failed");
  EXPECT_THAT(round["reason"].get<std::string>(),
              HasSubstr("rank 1 on " + SshDaemon::host(2) + ": SIGKILL"));
  EXPECT_EQ(read_file(log_of(0)), "started\n");
  EXPECT_EQ(read_file(log_of(1)), "started\n");
}

TEST_F(SshFaults, ARankThatNeverStartedIsNamedNotTheOneThatWaitsForIt) {
  // As a program that was installed on one host only.
  write("program0", "#!/bin/sh\necho waiting for rank 1\nexec sleep " + marker_ + "\n");
  fs::permissions(folder_ / "program0", fs::perms::owner_all);
  const CommandResult run =
      assay({"run", suite("['" + (folder_ / "program{rank}").string() + "']").string()});
  EXPECT_EQ(run.status.code, 4) << run.out << run.err;
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["status"], "launch_failed");
  EXPECT_THAT(round["reason"].get<std::string>(), HasSubstr("rank 1 on " + SshDaemon::host(2)));
  EXPECT_THAT(round["reason"].get<std::string>(), HasSubstr("program1"));
  EXPECT_TRUE(fs::exists(log_of(0)));
}

TEST_F(SshFaults, StopEndsTheRanksOnTheHostsAndTheRunResumes) {
  const pid_t pid = start_and_wait_for_sleepers();
  const CommandResult stop = assay({"stop", latest().string()});
  EXPECT_EQ(stop.status.code, 0) << stop.err;
  const auto status = wait(pid, 30s);
  ASSERT_TRUE(status) << "assay was asked to stop and goes on";
  EXPECT_EQ(status->code, 5);
  EXPECT_TRUE(processes_with("sleep " + marker_).empty());
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["status"], "interrupted");
  EXPECT_EQ(read_file(log_of(1)), "started\n");
  expect_resume_completes();
}

TEST_F(SshFaults, AFullDiskOnAHostIsNamedAndTheOthersAreCollected) {
  give_second_host_a_disk("24m");
  if (IsSkipped()) return;
  const CommandResult run =
      assay({"run", suite("[/bin/sh, -c, 'echo started; test $RANK = 0 || head -c 67108864 "
                          "/dev/zero | tr \"\\\\0\" \"\\\\n\"; echo done']")
                        .string()});
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_THAT(read_file(latest() / "result.json"),
              HasSubstr("rank1.out.log on " + SshDaemon::host(2) + ": No space left on device"));
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["validity"], "INCOMPLETE");
  EXPECT_EQ(read_file(log_of(0)), "started\ndone\n");
}

TEST_F(SshFaults, ADiskThatCannotTakeTheProgramsFailsTheLaunchAndIsNamed) {
  give_second_host_a_disk("1m");
  if (IsSkipped()) return;
  const CommandResult run = assay({"run", suite("['/bin/true']").string()});
  EXPECT_EQ(run.status.code, 4) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr(SshDaemon::host(2)));
  EXPECT_THAT(run.err, HasSubstr("disk full"));
  EXPECT_TRUE(fs::is_empty(disk_)) << "half a copy was left";
}

TEST_F(SshFaults, AServerThatTakesFewConnectionsAtOnceIsAskedAgain) {
  // Beyond two that are not logged in yet, every connection is turned away.
  const fs::path config = folder_ / "sshd/sshd_config";
  const fs::path log = folder_ / "sshd/sshd.log";
  std::string text = read_file(config);
  text.replace(text.find("MaxStartups 400"), 15, "MaxStartups 2:100:2");
  std::ofstream(config) << text;
  send_signal(sshd_.pid(), SIGHUP);
  const auto listens_again = [&log] {
    const std::string words = read_file(log);
    return words.rfind("Server listening") != words.find("Server listening");
  };
  ASSERT_TRUE(eventually(listens_again, 20s)) << read_file(log);
  std::string suite_text = read_file(suite("['/bin/true']"));
  const fs::path file =
      write("suite.yaml", "name: s\n" + sshd_.cluster(12, "connect_timeout: 60s") +
                              suite_text.substr(suite_text.find("cases:")));
  // Two that never log in; they go when others have been turned away.
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 2; ++i) silent.push_back(connect_to("127.0.0.1", sshd_.port()));
  const pid_t pid = start({"run", file.string(), "--set", "nodes=12"});
  const auto turned_away = [&log] {
    return read_file(log).find("past MaxStartups") != std::string::npos;
  };
  EXPECT_TRUE(eventually(turned_away, 30s)) << read_file(log);
  silent.clear();
  const auto status = wait(pid, 120s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0) << read_file_or_empty(folder_ / "assay.log");
}

TEST_F(SshFaults, ProgramsOfOldVersionsAreRemovedFromAHost) {
  const fs::path host = sshd_.cache() / SshDaemon::host(1);
  const auto age = [&](const char* name, std::chrono::hours by) {
    fs::create_directories(host / name);
    write("program", "");
    fs::last_write_time(host / name, fs::file_time_type::clock::now() - by);
  };
  age("bin-0123456789abcdef", std::chrono::hours(31 * 24));
  age("bin-fedcba9876543210", std::chrono::hours(29 * 24));
  age("runs", std::chrono::hours(99 * 24));
  const CommandResult run = assay({"run", suite("['/bin/true']").string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_FALSE(fs::exists(host / "bin-0123456789abcdef"));
  EXPECT_TRUE(fs::exists(host / "bin-fedcba9876543210"));
  EXPECT_TRUE(fs::exists(host / "runs"));
}

}  // namespace assay::e2e
