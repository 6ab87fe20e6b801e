// Hosts over a real sshd on loopback, with nothing installed on them.

#include <cstdlib>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "core/files.h"
#include "e2e/ssh_hosts.h"
#include "send_signal.h"

namespace assay::e2e {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

class Ssh : public SshTest {
 protected:
  fs::path suite(int hosts, const std::string& cases, const std::string& more = {}) {
    return write("suite.yaml", "name: s\n" + sshd_.cluster(hosts, more) + "cases:\n" + cases);
  }

  void make_another_key() const {
    (void)run_command(
        {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", (folder_ / "other").string()});
  }
};

constexpr const char* kNull =
    "  - {case: 'null:native:cpu:4:2:1', config: {steps: 60, step_ms: 10}}\n";

TEST_F(Ssh, FourHostsRunWithoutAnythingInstalledAndTheirLogsComeBack) {
  const CommandResult run = assay({"run", suite(4, kNull).string()});
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const Json round = result()["cases"][0]["rounds"][0];
  ASSERT_EQ(round["ranks"].size(), 8u);
  for (int r = 0; r < 8; ++r) {
    EXPECT_EQ(round["ranks"][r]["host"], SshDaemon::host(r / 2 + 1));
    EXPECT_EQ(round["ranks"][r]["steps"], 60);
  }
  const fs::path node =
      latest() / "null:native:cpu:4:2:1/round1" / (SshDaemon::host(3) + "_noderank2");
  for (const char* file : {"rank4.out.log", "rank5.out.log", "telemetry.csv", "cpu_monitor.log"})
    EXPECT_TRUE(fs::exists(node / file)) << file;
  // Lists and chains were made on the hosts.
  const CommandResult checked =
      run_command({"python3", ASSAY_SOURCE_DIR "/docs/evidence.py", latest().string()});
  EXPECT_EQ(checked.status.code, 0) << checked.out << checked.err;
  // What was collected does not stay there; the programs do, for the next run.
  EXPECT_FALSE(fs::exists(sshd_.cache() / SshDaemon::host(3) / "runs/" / latest().filename()));
  std::vector<std::string> kept;
  for (const auto& entry : fs::directory_iterator(sshd_.cache() / SshDaemon::host(3)))
    kept.push_back(entry.path().filename());
  EXPECT_THAT(kept, ::testing::Contains(::testing::StartsWith("bin-")));
}

TEST_F(Ssh, ALogThatWasChangedOnItsHostIsNamedWhenItArrives) {
  const fs::path script =
      write("rank.sh", "echo hello\nsleep 1\nfind " + sshd_.cache().string() +
                           " -name rank0.out.log -exec sh -c 'echo more >> \"$1\"' x {} ';'\n");
  (void)assay(
      {"run", suite(1, "  - {name: c, command: [/bin/sh, " + script.string() + "]}\n").string()});
  EXPECT_THAT(read_file(latest() / "journal.jsonl"),
              HasSubstr("\"rank0.out.log is not as its agent wrote it: longer\""));
}

TEST_F(Ssh, AFileWithoutMeasureDoesNotComeAndTheEvidenceDoes) {
  const fs::path script = write("rank.sh",
                                "echo hello\ntruncate -s 1T \"$1/a-junk.bin\"\n"
                                "echo small > \"$1/b.txt\"\n");
  const CommandResult run = assay(
      {"run", suite(1, "  - {name: c, command: [/bin/sh, " + script.string() + ", '{outdir}']}\n")
                  .string()});
  const fs::path node = latest() / "c/round1" / (SshDaemon::host(1) + "_noderank0");
  EXPECT_EQ(read_file(node / "rank0.out.log"), "hello\n");
  EXPECT_EQ(read_file(node / "b.txt"), "small\n");
  EXPECT_FALSE(fs::exists(node / "a-junk.bin"));
  EXPECT_THAT(run.err + run.out, HasSubstr("not fetched from " + SshDaemon::host(1) +
                                           ": 1 file of 1.00 TiB (a-junk.bin)"));
}

TEST_F(Ssh, ALoginShellThatPrintsTextDisturbsNothing) {
  fs::create_directories(folder_ / "home");
  std::ofstream(folder_ / "home/.bashrc")
      << "echo 'Welcome to the cluster!'\necho quota >&2\nprintf 'no newline at the end'\n";
  std::ofstream(folder_ / "sshd/sshd_config", std::ios::app)
      << "SetEnv HOME=" << (folder_ / "home").string() << "\n";
  send_signal(sshd_.pid(), SIGHUP);
  ASSERT_TRUE(eventually([this] { return takes_connections("127.0.0.1", sshd_.port()); }, 20s));
  const CommandResult run = assay(
      {"run", suite(1, "  - {case: 'null:native:cpu:1:1:1', config: {steps: 60}}\n").string()});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["ranks"][0]["steps"], 60);
}

TEST_F(Ssh, ASecondRunCopiesNothing) {
  const fs::path file = suite(1, "  - {case: 'null:native:cpu:1:1:1', config: {steps: 60}}\n");
  ASSERT_EQ(assay({"run", file.string()}).status.code, 0);
  // A copy is unpacked in a folder of its own beside the others first.
  const fs::path host = sshd_.cache() / SshDaemon::host(1);
  const auto before = fs::last_write_time(host);
  ASSERT_EQ(assay({"run", file.string()}).status.code, 0);
  EXPECT_EQ(fs::last_write_time(host), before);
}

TEST_F(Ssh, ACopyThatABrokenConnectionCutIsTakenUp) {
  ::setenv("XDG_CACHE_HOME", (folder_ / "packed").c_str(), 1);
  const fs::path file = suite(1, "  - {case: 'null:native:cpu:1:1:1', config: {steps: 60}}\n");
  const CommandResult first = assay({"run", file.string()});
  EXPECT_EQ(first.status.code, 0) << first.out << first.err;
  // As if the connection had broken in the middle: half of the packed programs is there.
  fs::path programs;
  for (const auto& entry : fs::directory_iterator(sshd_.cache() / SshDaemon::host(1)))
    if (entry.path().filename().string().starts_with("bin-")) programs = entry.path();
  ASSERT_FALSE(programs.empty());
  fs::remove_all(programs);
  for (const auto& entry : fs::directory_iterator(folder_ / "packed/assay/bundles"))
    if (entry.path().extension() == ".tar")
      fs::copy_file(entry.path(), programs.string() + ".part");
  const fs::path part = programs.string() + ".part";
  const auto half = fs::file_size(part) / 2;
  fs::resize_file(part, half);
  const CommandResult second = assay({"run", file.string()});
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(second.status.code, 0) << second.out << second.err;
  EXPECT_TRUE(fs::exists(programs / "assay-agent"));
  EXPECT_FALSE(fs::exists(part));
}

TEST_F(Ssh, AnUnreachableHostIsNamedAndNothingIsLeftOnTheOthers) {
  const fs::path file = suite(3, "  - {case: 'null:native:cpu:3:1:1'}\n", "connect_timeout: 3s");
  // Nobody listens on port 1 of the second host.
  std::string text = read_file(file);
  text.replace(text.find(SshDaemon::host(2)), SshDaemon::host(2).size(),
               "{name: " + SshDaemon::host(2) + ", port: 1}");
  write("suite.yaml", text);
  const CommandResult run = assay({"run", file.string()});
  EXPECT_EQ(run.status.code, 4) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr(SshDaemon::host(2)));
  EXPECT_THAT(run.err, HasSubstr("refused"));
  EXPECT_THAT(run.err, Not(HasSubstr(SshDaemon::host(3) + ":")));
}

TEST_F(Ssh, AChangedHostKeyIsRefused) {
  const fs::path known = folder_ / "sshd/known_hosts";
  make_another_key();
  std::ofstream(known) << "[" << SshDaemon::host(1) << "]:" << sshd_.port() << " "
                       << read_file(folder_ / "other.pub");
  const CommandResult run =
      assay({"run", suite(1, "  - {case: 'null:native:cpu:1:1:1'}\n").string()});
  EXPECT_EQ(run.status.code, 4) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("HOST IDENTIFICATION HAS CHANGED"));
}

TEST_F(Ssh, AnUnknownHostKeyIsRefusedUnlessTheSuiteAcceptsNewOnes) {
  std::ofstream(folder_ / "sshd/known_hosts").close();
  const std::string cases = "  - {case: 'null:native:cpu:1:1:1', config: {steps: 60}}\n";
  const CommandResult refused = assay({"run", suite(1, cases).string()});
  EXPECT_EQ(refused.status.code, 4) << refused.out << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("Host key verification failed"));
  EXPECT_EQ(assay({"run", suite(1, cases, "accept_new_keys: true").string()}).status.code, 0);
  EXPECT_EQ(assay({"run", suite(1, cases).string()}).status.code, 0);
}

TEST_F(Ssh, AWrongKeyIsNoPermission) {
  make_another_key();
  std::string text = read_file(suite(1, "  - {case: 'null:native:cpu:1:1:1'}\n"));
  const std::string key = (folder_ / "sshd/user_key").string();
  text.replace(text.find(key), key.size(), (folder_ / "other").string());
  write("suite.yaml", text);
  const CommandResult run = assay({"run", (folder_ / "suite.yaml").string()});
  EXPECT_EQ(run.status.code, 4) << run.out << run.err;
  EXPECT_THAT(run.err, HasSubstr("Permission denied"));
  EXPECT_THAT(run.err, HasSubstr(SshDaemon::host(1)));
}

TEST_F(Ssh, AKilledAgentIsNamedTheOthersAreCollectedAndTheRoundIsRetried) {
  const fs::path file =
      write("suite.yaml",
            "name: s\n" + sshd_.cluster(2) +
                "cases:\n  - name: probe\n    nodes: 2\n    limits: {grace: 500ms}\n"
                "    command: [/bin/sh, -c, 'echo started; test -e " +
                (folder_ / "again").string() + " || { touch " + (folder_ / "first").string() +
                "; sleep 60; }; sleep 0.3']\n"
                "    rules: {min-steps: off, min-duration: off, perflog-present: off}\n");
  std::string text = read_file(file);
  text.insert(text.find("  hosts:"), "  retries: 1\n");
  write("suite.yaml", text);
  const pid_t pid = start({"run", file.string()});
  ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "first"); }));
  const std::vector<pid_t> agents = processes_with((sshd_.cache() / SshDaemon::host(2)).string());
  ASSERT_FALSE(agents.empty());
  std::ofstream(folder_ / "again") << "go";
  for (const pid_t agent : agents) send_signal(agent, SIGKILL);
  const auto status = wait(pid, 40s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0) << read_file(folder_ / "assay.log");
  EXPECT_THAT(read_file(latest() / "journal.jsonl"), HasSubstr("round_retry"));
  EXPECT_TRUE(fs::exists(latest() / "probe/round1.interrupted-1"));
  EXPECT_TRUE(fs::exists(latest() / "probe/round1.interrupted-1" /
                         (SshDaemon::host(1) + "_noderank0") / "rank0.out.log"));
}

TEST_F(Ssh, AControllerKilledWithNineLeavesNothingOnTheHostsAndTheRunResumes) {
  const fs::path file =
      suite(2,
            "  - name: probe\n    nodes: 2\n"
            "    command: [/bin/sh, -c, 'echo started; test -e " +
                (folder_ / "again").string() + " || { touch " + (folder_ / "first").string() +
                "; sleep 60; }']\n"
                "    rules: {min-steps: off, min-duration: off, perflog-present: off}\n");
  const pid_t pid = start({"run", file.string()});
  ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "first"); }));
  send_signal(pid, SIGKILL);
  EXPECT_TRUE(eventually([&] { return processes_with(sshd_.cache().string()).empty(); }, 10s));
  std::ofstream(folder_ / "again") << "go";
  const CommandResult resumed = assay({"run", "--resume", latest().string()});
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
}

TEST_F(Ssh, ADeadSshdEndsTheRoundAndIsNamed) {
  const fs::path file = suite(2,
                              "  - name: probe\n    nodes: 2\n    limits: {grace: 500ms}\n"
                              "    command: [/bin/sh, -c, 'echo started; touch " +
                                  (folder_ / "first").string() + "; sleep 60']\n");
  const pid_t pid = start({"run", file.string()});
  ASSERT_TRUE(eventually([&] { return fs::exists(folder_ / "first"); }));
  sshd_.kill_all();
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status) << "assay still waits for hosts that are gone";
  EXPECT_THAT(read_file(folder_ / "assay.log"), HasSubstr("the agent on 127.1.0."));
  EXPECT_NE(status->code, 0);
}

TEST_F(Ssh, TwoRunsOnTheSameHostsDoNotDisturbEachOther) {
  const fs::path file = suite(2, "  - {case: 'null:native:cpu:2:1:1', config: {steps: 100}}\n");
  const pid_t first = start({"run", file.string(), "--out", "one"});
  const pid_t second = start({"run", file.string(), "--out", "two"});
  for (const pid_t pid : {first, second}) {
    const auto status = wait(pid, 40s);
    ASSERT_TRUE(status);
    EXPECT_EQ(status->code, 0) << read_file(folder_ / "assay.log");
  }
}

// As at sites with one-time passwords: who is not connected yet cannot log in any more.
TEST_F(Ssh, TheUsersOwnConnectionCarriesARunThatCouldNotLogIn) {
  const fs::path config = folder_ / "ssh_config";
  std::ofstream(config) << "Host *\n  ControlMaster no\n  ControlPath "
                        << (folder_ / "own-%h").string() << "\n  UserKnownHostsFile "
                        << (folder_ / "sshd/known_hosts").string() << "\n  IdentityFile "
                        << (folder_ / "sshd/user_key").string() << "\n  Port " << sshd_.port()
                        << "\n";
  const auto ssh = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"ssh", "-F", config.string(), "-o", "BatchMode=yes"});
    words.push_back(SshDaemon::host(1));
    return run_command(words);
  };
  // In a session of its own before the command ends, or it would be ended with it (-f leaves its
  // parent's session a moment too late). TearDown of the test ends it with its sshd.
  const std::string master = fmt::format(
      "setsid ssh -F {} -o BatchMode=yes -M -N -E {} {} </dev/null >/dev/null 2>&1 & "
      "until [ -S {} ]; do kill -0 $! || exit 1; sleep 0.05; done",
      config.string(), (folder_ / "master.log").string(), SshDaemon::host(1),
      (folder_ / ("own-" + SshDaemon::host(1))).string());
  ASSERT_TRUE(run_command({"sh", "-c", master}).status.ok())
      << read_file_or_empty(folder_ / "master.log");
  std::ofstream(folder_ / "sshd/authorized_keys") << "";
  const auto file = [&](const char* more) {
    std::string text =
        read_file(suite(1, "  - {case: 'null:native:cpu:1:1:1', config: {steps: 60}}\n", more));
    text.replace(text.find("config: /dev/null"), 17, "config: " + config.string());
    return write("suite.yaml", text).string();
  };
  const CommandResult own = assay({"run", file("user_control: false")});
  EXPECT_EQ(own.status.code, 4) << own.out << own.err;
  EXPECT_THAT(own.err, HasSubstr("Permission denied"));
  const CommandResult run = assay({"run", file("user_control: true")});
  EXPECT_EQ(run.status.code, 0) << run.out << run.err;
  EXPECT_TRUE(fs::exists(latest() / "null:native:cpu:1:1:1/round1" /
                         (SshDaemon::host(1) + "_noderank0") / "rank0.out.log"));
  EXPECT_TRUE(ssh({"-O", "check"}).status.ok()) << "the user's connection stays open";
  EXPECT_TRUE(ssh({"-O", "exit"}).status.ok());
}

}  // namespace assay::e2e
