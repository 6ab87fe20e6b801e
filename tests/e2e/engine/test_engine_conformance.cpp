#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/time.h"
#include "e2e/engine/engine_conformance.h"
#include "e2e/slurm_cluster.h"
#include "e2e/ssh_hosts.h"
#include "engine/embedded_engine.h"
#include "engine/execution_folder.h"
#include "engine/nodes_file.h"
#include "engine/slurm_engine.h"
#include "send_signal.h"

namespace assay::e2e {
namespace {

using engine::Execution;
using engine::ExecutionFolder;
using engine::Order;
using jobs::Ending;
using jobs::EventKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_P(EngineConformance, RunsAJobAndSaysHowItEnded) {
  const Order job = order("echo hello from $ASSAY_JOB_ID, restart $ASSAY_RESTART_COUNT");
  engine_->start(job);
  const jobs::Event end = end_of(job.execution);
  EXPECT_EQ(end.kind, EventKind::exited) << end.detail;
  EXPECT_EQ(end.exit.ending, Ending::completed);
  EXPECT_EQ(end.exit.code, 0);
  EXPECT_NE(end.exit.verdict, jobs::Verdict::none);
  EXPECT_THAT(recorder_->kinds(job.execution), ElementsAre(EventKind::started, EventKind::exited));
  EXPECT_THAT(output(job), HasSubstr("hello from 1, restart 0"));
}

TEST_P(EngineConformance, SaysTheExitCodeOfTheFirstRankThatFailed) {
  Order job = order("exit 42");
  job.restarts = 3;
  job.submission.env = {{"GREETING", "it's {rank} \"$HOME\""}};
  job.submission.command = "echo \"$GREETING\" $ASSAY_RESTART_COUNT; exit 42";
  engine_->start(job);
  const jobs::Event end = end_of(job.execution);
  EXPECT_EQ(end.exit.ending, Ending::failed);
  EXPECT_EQ(end.exit.code, 42);
  EXPECT_THAT(output(job), HasSubstr("it's {rank} \"$HOME\" 3"));
}

TEST_P(EngineConformance, ASuiteThatCannotBePlannedFailsWithItsReason) {
  Order job = order("");
  job.submission.suite = "name: wrong\ncasse: []\n";
  engine_->start(job);
  const jobs::Event end = end_of(job.execution);
  EXPECT_EQ(end.kind, EventKind::exited);
  EXPECT_EQ(end.exit.ending, Ending::failed);
  EXPECT_THAT(end.detail, HasSubstr("casse"));
}

TEST_P(EngineConformance, PlansWithoutStartingAnything) {
  const engine::Planned planned =
      engine_->plan(order("echo never > " + (folder_ / "ran").string()));
  EXPECT_THAT(planned.text, HasSubstr("ASSAY_JOB_ID"));
  EXPECT_EQ(planned.nodes, 1);
  EXPECT_EQ(planned.procs, 1);
  EXPECT_FALSE(fs::exists(folder_ / "ran"));
  Order wrong = order("");
  wrong.submission.suite = "name: wrong\ncasse: []\n";
  try {
    (void)engine_->plan(wrong);
    FAIL() << "it was planned";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_EQ(error.where(), "suite.yaml:2:1");
  }
}

TEST_P(EngineConformance, ThePlacementWinsOverTheSuitesHosts) {
  Order job = order("");
  job.submission.suite =
      "name: far\ncluster: {launcher: ssh, hosts: [far-away.invalid]}\n"
      "cases: [{name: main, model: m, command: [echo, hello]}]\n";
  engine_->start(job);
  EXPECT_EQ(end_of(job.execution).exit.ending, Ending::completed);
}

TEST_P(EngineConformance, StartsAnExecutionOnce) {
  const Order job = order("echo >> " + (folder_ / "ran").string() + "; sleep 1");
  engine_->start(job);
  engine_->start(job);
  ASSERT_TRUE(recorder_->wait(job.execution, {EventKind::started}));
  engine_->start(job);
  (void)end_of(job.execution);
  EXPECT_EQ(lines("ran"), 1U);
  // Also when it has ended: its end is said again, and nothing else happens.
  recorder_ = std::make_unique<Recorder>();
  new_server();
  engine_->start(job);
  EXPECT_EQ(end_of(job.execution).exit.ending, Ending::completed);
  EXPECT_EQ(lines("ran"), 1U);
}

TEST_P(EngineConformance, GivesTwoJobsOfANodeDifferentDevices) {
  const std::string show = "echo devices $ASSAY_DEVICES; echo >> " + (folder_ / "ran").string() +
                           "; while [ ! -e " + (folder_ / "go").string() +
                           " ]; do sleep 0.05; done";
  Order first = order(show, 1);
  Order second = order(show, 2);
  first.placement.front().devices = second.placement.front().devices = 2;
  engine_->start(first);
  engine_->start(second);
  ASSERT_TRUE(has_lines("ran", 2));
  const std::string node = first.placement.front().node;
  const std::vector<int> of_first = engine_->devices_of(first.execution)[node];
  const std::vector<int> of_second = engine_->devices_of(second.execution)[node];
  write("go", "");
  (void)end_of(first.execution);
  (void)end_of(second.execution);
  ASSERT_EQ(of_first.size(), 2U);
  ASSERT_EQ(of_second.size(), 2U);
  for (const int device : of_first)
    EXPECT_EQ(std::count(of_second.begin(), of_second.end(), device), 0);
  EXPECT_THAT(output(first), HasSubstr("devices " + std::to_string(of_first[0]) + "," +
                                       std::to_string(of_first[1])));
  EXPECT_THAT(output(second), HasSubstr("devices " + std::to_string(of_second[0]) + "," +
                                        std::to_string(of_second[1])));
  EXPECT_TRUE(engine_->devices_of(first.execution).empty());
}

// Where it is written down or said while the job runs: nowhere.
TEST_P(EngineConformance, GivesRanksTheirSecretsAndTellsNobodyElse) {
  const std::string value = "hunter2\n\"'$(id) {rank} of " + std::to_string(::getpid());
  Order job = order("printf %s \"$PLAIN_NAME\" | sha256sum; echo >> " + (folder_ / "ran").string() +
                    "; while [ ! -e " + (folder_ / "go").string() + " ]; do sleep 0.05; done");
  job.submission.secrets = {{"PLAIN_NAME", "hf"}};
  job.secrets = {{"PLAIN_NAME", value}};
  engine_->start(job);
  ASSERT_TRUE(has_lines("ran", 1));
  const auto expect_nowhere = [&] {
    for (const auto& file : fs::recursive_directory_iterator(folder_)) {
      if (!fs::is_regular_file(file.symlink_status())) continue;
      EXPECT_THAT(read_file_or_empty(file.path()), ::testing::Not(HasSubstr("hunter2")))
          << file.path();
    }
  };
  expect_nowhere();
  EXPECT_THAT(processes_with("hunter2"), ::testing::IsEmpty());
  write("go", "");
  EXPECT_EQ(end_of(job.execution).exit.ending, Ending::completed);
  EXPECT_THAT(output(job), HasSubstr(sha256(value)));
  expect_nowhere();
}

TEST_P(EngineConformance, SaysWhereASecretIsGivenInThePlanWithoutItsValue) {
  Order job = order("true");
  job.submission.secrets = {{"HF_TOKEN", "hf"}};
  EXPECT_THAT(engine_->plan(job).text, HasSubstr("HF_TOKEN=(secret hf)"));
  job.submission.command.clear();
  job.submission.suite =
      "name: s\ncases: [{name: main, model: m, command: ['true'], env: {HF_TOKEN: x}}]\n";
  try {
    (void)engine_->plan(job);
    FAIL() << "it was planned";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("the case 'main' sets HF_TOKEN itself"));
  }
}

// Whoever starts a job without the values of its secrets starts nothing.
TEST_P(EngineConformance, DoesNotRunAJobWhoseSecretsAreMissing) {
  Order job = order("echo >> " + (folder_ / "ran").string());
  job.submission.secrets = {{"HF_TOKEN", "hf"}};
  engine_->start(job);
  const jobs::Event end = end_of(job.execution);
  EXPECT_THAT(end.detail, HasSubstr("the values of the job's secrets have not come"));
  EXPECT_EQ(lines("ran"), 0U);
}

TEST_P(EngineConformance, StopsWithASignalThatAProgramCanAnswer) {
  const Order job = order("trap 'echo saved; exit 0' TERM; echo >> " + (folder_ / "ran").string() +
                          "; while :; do sleep 0.1; done");
  engine_->start(job);
  ASSERT_TRUE(has_lines("ran", 1));
  engine_->stop(job.execution, std::chrono::seconds(60));
  const jobs::Event end = end_of(job.execution);
  EXPECT_EQ(end.exit.ending, Ending::interrupted);
  EXPECT_THAT(output(job), HasSubstr("saved"));
}

TEST_P(EngineConformance, StopsByForceWhatIgnoresTheSignal) {
  const Order job = order("trap '' TERM; echo >> " + (folder_ / "ran").string() + "; while :; do " +
                          nap_ + "; done");
  engine_->start(job);
  ASSERT_TRUE(has_lines("ran", 1));
  engine_->stop(job.execution, std::chrono::seconds(1));
  EXPECT_EQ(end_of(job.execution).exit.ending, Ending::interrupted);
  EXPECT_TRUE(processes_with(nap_).empty());
}

TEST_P(EngineConformance, StopsAtOnceWithoutAGrace) {
  const Order job = order("trap '' TERM; echo >> " + (folder_ / "ran").string() + "; while :; do " +
                          nap_ + "; done");
  engine_->start(job);
  ASSERT_TRUE(has_lines("ran", 1));
  engine_->stop(job.execution, std::chrono::seconds(600));
  engine_->stop(job.execution, Nanoseconds(0));
  EXPECT_EQ(end_of(job.execution).exit.ending, Ending::interrupted);
  EXPECT_TRUE(processes_with(nap_).empty());
}

TEST_P(EngineConformance, StopsWhatHasHardlyBegun) {
  for (int i = 1; i <= 8; ++i) {
    const Order job = order(nap_, i);
    engine_->start(job);
    ::usleep(static_cast<useconds_t>(i - 1) * 20'000);
    engine_->stop(job.execution, Nanoseconds(0));
    EXPECT_EQ(end_of(job.execution).exit.ending, Ending::interrupted) << i;
  }
  EXPECT_TRUE(processes_with(nap_).empty());
}

TEST_P(EngineConformance, LeavesNothingOfACommandThatForksAway) {
  const Order job = order("setsid sh -c '" + nap_ + "' > /dev/null 2>&1 & echo >> " +
                          (folder_ / "ran").string() + "; sleep 0.5; exit 0");
  engine_->start(job);
  EXPECT_EQ(end_of(job.execution).exit.ending, Ending::completed);
  EXPECT_TRUE(processes_with(nap_).empty());
}

TEST_P(EngineConformance, StopsACommandThatForksForEver) {
  const Order job = order("echo >> " + (folder_ / "ran").string() + "; while :; do (setsid " +
                          nap_ + " &); sleep 0.02; done");
  engine_->start(job);
  ASSERT_TRUE(has_lines("ran", 1));
  ASSERT_TRUE(
      eventually([this] { return processes_with(nap_).size() > 3; }, std::chrono::seconds(60)));
  engine_->stop(job.execution, Nanoseconds(0));
  EXPECT_EQ(end_of(job.execution).exit.ending, Ending::interrupted);
  EXPECT_TRUE(processes_with(nap_).empty());
}

TEST_P(EngineConformance, WhatTheServerWasStartedWithIsNotForJobs) {
  ::setenv("CLUSTER_ADMIN_TOKEN", "hidden-from-jobs", 1);
  ::setenv("MY_PLAIN_SETTING", "hidden-from-jobs", 1);
  Order job = order("env");
  job.array_index = 7;
  engine_->start(job);
  EXPECT_EQ(end_of(job.execution).exit.ending, Ending::completed);
  ::unsetenv("CLUSTER_ADMIN_TOKEN");
  ::unsetenv("MY_PLAIN_SETTING");
  EXPECT_THAT(output(job), HasSubstr("ASSAY_ARRAY_INDEX=7"));
  EXPECT_THAT(output(job), HasSubstr("\nPATH="));
  EXPECT_THAT(output(job), ::testing::Not(HasSubstr("hidden-from-jobs")));
}

TEST_P(EngineConformance, WorksInACopyOfWhatWasUploaded) {
  temporary_.write("upload/train.sh", "echo trained; echo changed > train.sh\n");
  fs::permissions(folder_ / "upload/train.sh", fs::perms::owner_read);
  Order job = order("sh ./train.sh");
  job.code = folder_ / "upload";
  engine_->start(job);
  const jobs::Event end = end_of(job.execution);
  EXPECT_EQ(end.exit.ending, Ending::completed) << end.detail;
  EXPECT_THAT(output(job), HasSubstr("trained"));
  EXPECT_THAT(read_file(folder_ / "upload/train.sh"), HasSubstr("echo trained"));
}

// --- the server is killed

TEST_P(EngineConformance, FindsAgainWhatRuns) {
  const Order job = order("echo >> " + (folder_ / "ran").string() + "; while [ ! -e " +
                          (folder_ / "go").string() + " ]; do sleep 0.05; done; exit 5");
  engine_->start(job);
  ASSERT_TRUE(has_lines("ran", 1));
  const auto devices = engine_->devices_of(job.execution);
  new_server();
  engine_->recall({job});
  ASSERT_TRUE(recorder_->wait(job.execution, {EventKind::found}));
  EXPECT_EQ(engine_->devices_of(job.execution), devices);
  write("go", "");
  EXPECT_EQ(end_of(job.execution).exit.code, 5);
  EXPECT_EQ(lines("ran"), 1U);
}

TEST_P(EngineConformance, StopsWhatAnotherServerStarted) {
  const Order job =
      order("trap '' TERM; echo >> " + (folder_ / "ran").string() + "; " + nap_ + "; " + nap_);
  engine_->start(job);
  ASSERT_TRUE(has_lines("ran", 1));
  new_server();
  engine_->recall({job});
  ASSERT_TRUE(recorder_->wait(job.execution, {EventKind::found}));
  engine_->stop(job.execution, Nanoseconds(0));
  EXPECT_EQ(end_of(job.execution).exit.ending, Ending::interrupted);
  EXPECT_TRUE(processes_with(nap_).empty());
}

// The signal of the server before counts: a second one would end it at once.
TEST_P(EngineConformance, KeepsTheGraceOfWhatWasBeingStopped) {
  const Order job = order("trap 'echo >> " + (folder_ / "asked").string() + "; while [ ! -e " +
                          (folder_ / "go").string() +
                          " ]; do sleep 0.05; done; echo saved; exit 0' TERM; echo >> " +
                          (folder_ / "ran").string() + "; while :; do sleep 0.1; done");
  engine_->start(job);
  ASSERT_TRUE(has_lines("ran", 1));
  engine_->stop(job.execution, std::chrono::seconds(600));
  ASSERT_TRUE(has_lines("asked", 1));
  new_server();
  engine_->recall({job});
  ASSERT_TRUE(recorder_->wait(job.execution, {EventKind::found}));
  engine_->stop(job.execution, std::chrono::seconds(590));
  ::usleep(500'000);  // as long as a second signal would take to be obeyed
  write("go", "");
  EXPECT_EQ(end_of(job.execution).exit.ending, Ending::interrupted);
  EXPECT_THAT(output(job), HasSubstr("saved"));
}

TEST_P(EngineConformance, SaysHowAJobEndedThatEndedWithoutAServer) {
  const Order job = order("exit 7");
  engine_->start(job);
  ASSERT_TRUE(recorder_->wait(job.execution, {EventKind::started}));
  engine_.reset();
  ASSERT_TRUE(
      eventually([&] { return !ExecutionFolder(job.folder).held(); }, std::chrono::seconds(60)));
  const std::int64_t seen_ns = wall_now_ns();
  ::usleep(3'500'000);  // longer than Slurm's times, whole seconds, and its script are inexact
  new_server();
  engine_->recall({job});
  const jobs::Event end = end_of(job.execution);
  EXPECT_EQ(end.exit.code, 7);
  // The server may have been away before it began.
  EXPECT_THAT(recorder_->kinds(job.execution), ElementsAre(EventKind::started, EventKind::exited));
  // Hours of devices are counted by these.
  const auto begun = recorder_->wait(job.execution, {EventKind::started});
  ASSERT_TRUE(begun);
  EXPECT_GT(begun->at_ns, 0);
  EXPECT_LE(begun->at_ns, end.at_ns);
  EXPECT_LT(end.at_ns, seen_ns + 3'000'000'000);
}

TEST_P(EngineConformance, NotFoundIsAPromise) {
  const Order job = order("echo >> " + (folder_ / "ran").string());
  engine_->recall({job});
  ASSERT_TRUE(recorder_->wait(job.execution, {EventKind::not_found}));
  // Even by hand: whatever the server before had under way comes too late.
  ASSERT_TRUE(ExecutionFolder(job.folder).beginning()->never);
  engine_->start(job);
  ASSERT_TRUE(eventually([&] { return recorder_->kinds(job.execution).size() == 2; },
                         std::chrono::seconds(60)));
  EXPECT_THAT(recorder_->kinds(job.execution),
              ElementsAre(EventKind::not_found, EventKind::not_found));
  EXPECT_EQ(lines("ran"), 0U);
}

// At every moment of start(): the job runs once, or never after "not found".
TEST_P(EngineConformance, RunsOnceOrNeverWhenTheServerIsKilledWhileItStarts) {
  engine_.reset();  // no threads when this process forks
  int found = 0;
  int never = 0;
  for (int i = 0; i < 14; ++i) {
    const std::string ran = "ran" + std::to_string(i);
    new_server();
    const Order job = order("echo >> " + (folder_ / ran).string() + "; sleep 0.2", i + 1);
    engine_.reset();
    const pid_t server = ::fork();
    ASSERT_GE(server, 0);
    if (server == 0) {
      const auto engine = world_->make();
      engine->report_to([](const Execution&, const jobs::Event&) {});
      engine->start(job);
      for (;;) ::pause();
    }
    ::usleep(static_cast<useconds_t>(i * i) * 3'000);
    send_signal(server, SIGKILL);
    ::waitpid(server, nullptr, 0);
    new_server();
    engine_->recall({job});
    const auto event =
        recorder_->wait(job.execution, {EventKind::found, EventKind::not_found, EventKind::exited});
    ASSERT_TRUE(event);
    if (event->kind == EventKind::not_found) {
      ++never;
      ASSERT_TRUE(eventually([&] { return processes_with(job.folder.string()).empty(); },
                             std::chrono::seconds(60)));
      EXPECT_EQ(lines(ran), 0U);
    } else {
      ++found;
      EXPECT_EQ(end_of(job.execution).exit.ending, Ending::completed);
      EXPECT_EQ(lines(ran), 1U);
    }
  }
  EXPECT_GT(never, 0);
  RecordProperty("found", found);
}

TEST_P(EngineConformance, SweepsWhatAKilledControllerLeaves) {
  const Order job =
      order("setsid sh -c '" + nap_ + "' & echo >> " + (folder_ / "ran").string() + "; " + nap_);
  engine_->start(job);
  ASSERT_TRUE(has_lines("ran", 1));
  const pid_t controller = ExecutionFolder(job.folder).beginning()->pid;
  // With its agent and the agent's guardian, at once.
  std::vector<pid_t> all = descendants_of(controller);
  std::vector<pid_t> victims{controller};
  for (const pid_t pid : all)
    if (const std::string name = read_file_or_empty("/proc/" + std::to_string(pid) + "/comm");
        name.starts_with("assay"))
      victims.push_back(pid);
  for (const pid_t pid : victims) send_signal(pid, SIGKILL);
  const jobs::Event end = end_of(job.execution);
  EXPECT_EQ(end.kind, EventKind::engine_error);
  EXPECT_THAT(end.detail, HasSubstr("its controller was killed"));
  EXPECT_TRUE(processes_with(nap_).empty());
}

class ThisMachine : public EngineWorld {
 public:
  std::unique_ptr<engine::Engine> make() override {
    return std::make_unique<engine::EmbeddedEngine>(engine::EmbeddedOptions{
        .nodes = {{.name = "node1", .devices = 4}}, .bindir = ASSAY_BIN_DIR});
  }
};

class SshHosts : public EngineWorld {
 public:
  explicit SshHosts(const fs::path& folder) : folder_(folder), sshd_(folder) {}
  [[nodiscard]] std::string missing() const override { return sshd_.missing(); }
  std::unique_ptr<engine::Engine> make() override {
    const engine::NodesFile file =
        engine::parse_nodes_file("nodes: [{name: " + SshDaemon::host(1) + ", devices: 4}]\n" +
                                     ssh_settings(folder_ / "sshd", sshd_.port(), sshd_.cache()),
                                 "nodes.yaml");
    return std::make_unique<engine::EmbeddedEngine>(
        engine::EmbeddedOptions{.nodes = file.nodes, .bindir = ASSAY_BIN_DIR, .ssh = file.ssh});
  }

 private:
  fs::path folder_;
  SshDaemon sshd_;
};

class SlurmNodes : public EngineWorld {
 public:
  explicit SlurmNodes(const fs::path& folder) : slurm_(folder, 4, /*processors=*/4) {}
  [[nodiscard]] std::string missing() const override {
    return slurm_.missing().empty() ? slurm_.broken() : slurm_.missing();
  }
  std::unique_ptr<engine::Engine> make() override {
    return std::make_unique<engine::SlurmEngine>(
        engine::SlurmEngineOptions{.bindir = ASSAY_BIN_DIR});
  }

 private:
  SlurmCluster slurm_;
};

template <class World>
EngineKind kind(const std::string& name) {
  return {name, [](const fs::path& folder) -> std::unique_ptr<EngineWorld> {
            if constexpr (std::is_constructible_v<World, fs::path>)
              return std::make_unique<World>(folder);
            else
              return std::make_unique<World>();
          }};
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineConformance,
                         ::testing::Values(kind<ThisMachine>("embedded"),
                                           kind<SshHosts>("embedded_over_ssh"),
                                           kind<SlurmNodes>("slurm")),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace assay::e2e
