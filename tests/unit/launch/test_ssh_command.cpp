#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/files.h"
#include "core/sha256.h"
#include "core/subprocess.h"
#include "error_of.h"
#include "launch/agents/launcher.h"
#include "launch/agents/ssh/ssh_command.h"
#include "launch/agents/ssh/ssh_names.h"
#include "temporary_folder.h"

namespace assay::launch {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

plan::SshOptions& ssh_of(plan::Cluster& cluster) {
  return std::get<plan::SshOptions>(cluster.options);
}

SshTarget target_of(const plan::Cluster& cluster, std::size_t host) {
  return ssh_target(std::get<plan::SshOptions>(cluster.options), cluster.hosts[host]);
}

plan::Cluster cluster() {
  plan::Cluster cluster;
  plan::SshOptions ssh;
  ssh.user = "bench";
  ssh.port = 2222;
  ssh.identity = "/keys/id";
  cluster.use_launcher(ssh);
  plan::Host second{"node2"};
  second.ssh.address = "10.0.0.2";
  second.ssh.user = "root";
  second.ssh.jump = "gate";
  cluster.hosts = {plan::Host{"node1"}, second};
  return cluster;
}

TEST(SshCommand, AsksNothingAndChecksHostKeys) {
  const auto argv = ssh_argv(target_of(cluster(), 0), "/tmp/s/%C", "true");
  EXPECT_THAT(argv, IsSupersetOf({"BatchMode=yes", "StrictHostKeyChecking=yes",
                                  "ControlPath=/tmp/s/%C", "bench", "2222", "/keys/id"}));
  EXPECT_EQ(argv[argv.size() - 3], "--");
  EXPECT_EQ(argv[argv.size() - 2], "node1");
}

TEST(SshNames, AreAskedForWithoutAConnection) {
  EXPECT_THAT(ssh_query_argv(target_of(cluster(), 1)),
              ElementsAre("ssh", "-G", "-l", "root", "-p", "2222", "--", "10.0.0.2"));
}

TEST(SshNames, AreWhatSshConnectsTo) {
  EXPECT_EQ(queried_host("user bench\nhostname 10.0.0.5\nport 22\n"), "10.0.0.5");
  EXPECT_EQ(queried_host("user hostname\n"), "");
  EXPECT_EQ(queried_host(""), "");
}

TEST(SshCommand, AHostsOwnSettingsWin) {
  const SshTarget target = target_of(cluster(), 1);
  EXPECT_EQ(target.user, "root");
  EXPECT_EQ(target.port, 2222);
  const auto argv = ssh_argv(target, "", "true");
  EXPECT_THAT(argv, IsSupersetOf({"-J", "gate", "10.0.0.2"}));
  EXPECT_THAT(argv, Not(Contains(HasSubstr("Control"))));
}

TEST(SshCommand, TheAgentsConnectionCarriesTheOthersAndNothingStaysInTheBackground) {
  const auto argv = ssh_argv(target_of(cluster(), 0), "/tmp/s/%C", "true");
  EXPECT_THAT(argv, IsSupersetOf({"ControlMaster=auto", "ControlPersist=no"}));
}

TEST(SshCommand, TheUsersOwnConnectionIsLeftToTheUsersConfiguration) {
  plan::Cluster own = cluster();
  ssh_of(own).user_control = true;
  EXPECT_THAT(ssh_argv(target_of(own, 0), "/tmp/s/%C", "true"),
              Not(Contains(HasSubstr("Control"))));
}

TEST(SshCommand, OptionsOfTheSuiteComeAfterThoseOfAssayWhichTheyCannotChange) {
  plan::Cluster own = cluster();
  ssh_of(own).options = {"KexAlgorithms=^curve25519-sha256"};
  const auto argv = ssh_argv(target_of(own, 1), "", "true");
  const auto option = std::ranges::find(argv, "KexAlgorithms=^curve25519-sha256");
  ASSERT_NE(option, argv.end());
  EXPECT_EQ(*std::prev(option), "-o");
  EXPECT_LT(std::ranges::find(argv, "StrictHostKeyChecking=yes"), option);
}

TEST(SshCommand, NewKeysAreAcceptedOnlyOnRequest) {
  plan::Cluster open = cluster();
  ssh_of(open).accept_new_keys = true;
  EXPECT_THAT(ssh_argv(target_of(open, 0), "", "true"),
              Contains("StrictHostKeyChecking=accept-new"));
}

TEST(SshCommand, TheCacheMayDifferByHost) {
  plan::Cluster own = cluster();
  ssh_of(own).cache = "/scratch/{host}/assay";
  const SshTarget target = target_of(own, 0);
  EXPECT_EQ(remote_programs(target, std::string(64, 'a')),
            "/scratch/node1/assay/bin-aaaaaaaaaaaaaaaa");
  EXPECT_EQ(remote_programs(target_of(cluster(), 0), std::string(64, 'a')),
            "~/.cache/assay/bin-aaaaaaaaaaaaaaaa");
}

TEST(SshCommand, OnlyTroubleThatMayPassIsWorthAnotherAttempt) {
  EXPECT_TRUE(is_transient(
      "ended with exit 255: kex_exchange_identification: read: Connection reset by peer"));
  EXPECT_TRUE(is_transient("Exceeded MaxStartups"));
  EXPECT_TRUE(is_transient("ended with exit 255: Connection closed by 10.0.0.1 port 22"));
  EXPECT_TRUE(is_transient("ssh: connect to host n1 port 22: No route to host"));
  EXPECT_FALSE(is_transient("ssh: connect to host n1 port 22: Connection refused"));
  EXPECT_FALSE(is_transient("bench@n1: Permission denied (publickey)."));
  EXPECT_FALSE(is_transient("Host key verification failed."));
  EXPECT_FALSE(
      is_transient("j1: Permission denied (publickey).\nConnection closed by UNKNOWN port 65535"));
}

TEST(SshLauncher, WaitsLongerFromAttemptToAttemptWithinTheConnectTimeout) {
  plan::Cluster quick = cluster();
  ssh_of(quick).connect_timeout_s = 4;
  const auto launcher = make_launcher(quick, ASSAY_BIN_DIR);
  const std::string reason = "kex_exchange_identification: Connection closed by remote host";
  using std::chrono::milliseconds;
  EXPECT_EQ(launcher->retry_pause(reason, 0, milliseconds(10)), milliseconds(250));
  EXPECT_EQ(launcher->retry_pause(reason, 2, milliseconds(900)), milliseconds(1000));
  EXPECT_EQ(launcher->retry_pause(reason, 9, milliseconds(1500)), milliseconds(2000));
  EXPECT_EQ(launcher->retry_pause(reason, 9, milliseconds(3000)), std::nullopt);
  EXPECT_EQ(launcher->retry_pause("Permission denied", 0, milliseconds(10)), std::nullopt);
}

// A cleaner of caches may do so while a round runs, and the logs have to be fetched all the same.
TEST(SshLauncher, RunsTheProgramOfTheAgentThatServesWhereItsFileIsGone) {
  const auto launcher = make_launcher(cluster(), ASSAY_BIN_DIR);
  agent::Hello hello;
  hello.bindir = "/no such folder";
  hello.processes = {"boot:4026531836:" + std::to_string(::getpid()) + ":7"};
  const auto run = [&] {
    return run_command(
        {"/bin/sh", "-c", launcher->agent_command("node1", hello, {"--help"}).back()});
  };
  EXPECT_TRUE(run().ok()) << "this test's own program";
  hello.processes.clear();
  EXPECT_EQ(run().status.code, 127);
}

TEST(SshLauncher, RunsAShellsCommandOnAHostWithoutAnAgent) {
  const auto argv = make_launcher(cluster(), ASSAY_BIN_DIR)->shell_command("node2", "rm -rf x");
  EXPECT_THAT(argv, IsSupersetOf({"-J", "gate", "10.0.0.2"}));
  EXPECT_EQ(argv.back(), "rm -rf x");
  const auto local = make_launcher(plan::Cluster{}, ASSAY_BIN_DIR);
  EXPECT_THAT(testing::error_of([&] { return local->shell_command("node1", "true"); }),
              HasSubstr("not reached by ssh"));
}

// The script is run for real, with a "bundle" that is a shell script in a tar.
TEST(StartCommand, RefusesABundleWithAnotherHashAndLeavesNothing) {
  const testing::TemporaryFolder folder;
  SshTarget target;
  target.cache = folder.path().string();
  const Bundle bundle{"", std::string(64, '0'), 5};
  const CommandResult result =
      run_command({"/bin/sh", "-c", "printf 12345 | " + start_command(target, bundle, 3)});
  EXPECT_EQ(result.status.code, 96);
  EXPECT_THAT(result.out, HasSubstr("ASSAY-SEND-BUNDLE"));
  EXPECT_THAT(result.err, HasSubstr("could not be put into"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// A folder that holds a bundle with this "agent".
Bundle bundle_with(const std::filesystem::path& folder, const std::string& agent) {
  write_file_atomic(folder / "assay-agent", agent, /*sync=*/false);
  std::filesystem::permissions(folder / "assay-agent", std::filesystem::perms::owner_all);
  const std::filesystem::path tar = folder / "bundle.tar";
  (void)run_command({"tar", "-C", folder.string(), "-cf", tar.string(), "assay-agent"});
  return {tar, sha256_file(tar), std::filesystem::file_size(tar)};
}

CommandResult start_with(const std::filesystem::path& folder, const Bundle& bundle) {
  SshTarget target;
  target.cache = (folder / "my cache").string();
  return run_command(
      {"/bin/sh", "-c",
       "printf greeting; cat " + bundle.file.string() + " | " + start_command(target, bundle, 3)});
}

TEST(StartCommand, BeginsALineOfItsOwnWhateverWasPrintedBefore) {
  const testing::TemporaryFolder folder;
  const CommandResult result =
      start_with(folder.path(), bundle_with(folder.path(), "#!/bin/sh\necho agent $2\n"));
  EXPECT_EQ(result.out, "greeting\nASSAY-SEND-BUNDLE 0\nagent 3\n") << result.err;
}

TEST(StartCommand, CopiesNothingWhereTheProgramsAre) {
  const testing::TemporaryFolder folder;
  const Bundle bundle = bundle_with(folder.path(), "#!/bin/sh\necho agent $2\n");
  (void)start_with(folder.path(), bundle);
  EXPECT_EQ(start_with(folder.path(), bundle).out, "greeting\nagent 3\n");
}

TEST(StartCommand, ReplacesProgramsThatWereCutOrChanged) {
  const testing::TemporaryFolder folder;
  const Bundle bundle = bundle_with(folder.path(), "#!/bin/sh\necho agent $2\n");
  (void)start_with(folder.path(), bundle);
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder.path() / "my cache"))
    if (entry.path().filename() == "assay-agent") std::filesystem::resize_file(entry.path(), 12);
  EXPECT_EQ(start_with(folder.path(), bundle).out, "greeting\nASSAY-SEND-BUNDLE 0\nagent 3\n");
}

// As a connection that breaks in the middle, and the next start.
TEST(StartCommand, TakesUpWhatABrokenConnectionLeft) {
  const testing::TemporaryFolder folder;
  const Bundle bundle = bundle_with(folder.path(), "#!/bin/sh\necho agent $2\n");
  SshTarget target;
  target.cache = (folder.path() / "my cache").string();
  const std::string start = start_command(target, bundle, 3);
  const auto fed = [&](const std::string& command) {
    return run_command({"/bin/sh", "-c", command + " " + bundle.file.string() + " | " + start});
  };
  const CommandResult cut = fed("head -c 1000");
  EXPECT_EQ(cut.status.code, 98) << cut.err;
  EXPECT_THAT(cut.err, HasSubstr("came only in part"));
  const CommandResult rest = fed("tail -c +1001");
  EXPECT_EQ(rest.out, "\nASSAY-SEND-BUNDLE 1000\nagent 3\n") << rest.err;
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(target.cache))
    left.push_back(entry.path().filename());
  EXPECT_THAT(left, ElementsAre("bin-" + bundle.sha256.substr(0, 16)));
}

TEST(StartCommand, ThrowsAwayAPartThatWasNotOfThisBundle) {
  const testing::TemporaryFolder folder;
  const Bundle bundle = bundle_with(folder.path(), "#!/bin/sh\necho agent $2\n");
  const std::filesystem::path cache = folder.path() / "my cache";
  std::filesystem::create_directories(cache);
  write_file_atomic(cache / ("bin-" + bundle.sha256.substr(0, 16) + ".part"), std::string(700, 'x'),
                    /*sync=*/false);
  SshTarget target;
  target.cache = cache.string();
  const std::string start = start_command(target, bundle, 3);
  const CommandResult wrong =
      run_command({"/bin/sh", "-c", "tail -c +701 " + bundle.file.string() + " | " + start});
  EXPECT_EQ(wrong.status.code, 96);
  EXPECT_TRUE(std::filesystem::is_empty(cache));
  EXPECT_EQ(start_with(folder.path(), bundle).out, "greeting\nASSAY-SEND-BUNDLE 0\nagent 3\n");
}

TEST(StartCommand, TwoAtOnceDoNotDisturbEachOther) {
  const testing::TemporaryFolder folder;
  const Bundle bundle = bundle_with(folder.path(), "#!/bin/sh\necho agent $2\n");
  SshTarget target;
  target.cache = (folder.path() / "my cache").string();
  const std::string start =
      "cat " + bundle.file.string() + " | " + start_command(target, bundle, 3);
  const CommandResult both = run_command(
      {"/bin/sh", "-c", "( sleep 0.3; " + start + " ) & ( sleep 0.3; " + start + " ); wait"});
  EXPECT_EQ(both.err, "");
  EXPECT_THAT(both.out, HasSubstr("agent 3\n"));
  const auto at = both.out.find("agent 3\n");
  EXPECT_NE(both.out.find("agent 3\n", at + 1), std::string::npos);
}

TEST(StartCommand, ProgramsThatCannotBeExecutedThereAreSaidToBeSoAndRemoved) {
  const testing::TemporaryFolder folder;
  const CommandResult result =
      start_with(folder.path(), bundle_with(folder.path(), std::string("\x7f") + "ELF another"));
  EXPECT_EQ(result.status.code, 97);
  EXPECT_THAT(result.err, HasSubstr("cannot be executed in"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "my cache"));
}

}  // namespace
}  // namespace assay::launch
