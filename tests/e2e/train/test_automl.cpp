#include <algorithm>
#include <regex>
#include <set>

#include <gtest/gtest.h>
#include <signal.h>

#include "automl/experiment_journal.h"
#include "automl/score.h"
#include "core/files.h"
#include "e2e/harness.h"
#include "e2e/net_namespaces.h"
#include "e2e/slurm_cluster.h"
#include "e2e/ssh_hosts.h"
#include "send_signal.h"

namespace assay::e2e {
namespace {

using namespace std::chrono_literals;

/// A search with real workers that is over in seconds: a start model of 32×32 with few filters.
/// `place` is lines of the case, `ending` of its `automl`.
std::string tiny_search(const std::string& cluster, const std::string& place,
                        const std::string& ending) {
  return "telemetry: {enabled: false}\n" + cluster +
         "cases:\n"
         "  - name: search\n"
         "    " +
         place +
         "\n"
         "    config: {threads: 1}\n"
         "    rules: {automl-accuracy: off}\n"
         "    automl:\n"
         "      start: resnet8\n"
         "      data: {data: glyphs, train_size: 128, eval_size: 64}\n"
         "      space: off\n"
         "      epochs: 1\n"
         "      limits: {operations: 60000000}\n" +
         ending;
}

/// The workers of the experiment in `folder`.
std::vector<pid_t> workers_in(const fs::path& folder) {
  std::vector<pid_t> pids;
  for (const pid_t pid : processes_with("automl-worker"))
    if (read_file_or_empty("/proc/" + std::to_string(pid) + "/cmdline").find(folder.string()) !=
        std::string::npos)
      pids.push_back(pid);
  return pids;
}

// With `silence: 6s`, two workers and more trials than there is time for.
class StoppedWorkers {
 public:
  explicit StoppedWorkers(fs::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] automl::ExperimentRecord record() const {
    return automl::record_of(automl::ExperimentJournal::read(
        folder_ / "results/latest/search/round1/automl/journal.jsonl"));
  }
  [[nodiscard]] auto done() const {
    return std::ranges::count(record().trials, automl::TrialStatus::ok,
                              &automl::TrialRecord::status);
  }
  // One worker is stopped, is lost, goes on and is taken back; then both are stopped for good.
  void stop_one_and_then_both() {
    ASSERT_TRUE(eventually([&] { return done() >= 1; }, 120s));
    std::vector<pid_t> workers = workers_in(folder_);
    ASSERT_EQ(workers.size(), 2U);
    send_signal(workers[0], SIGSTOP);
    const auto lost = [&] {
      return std::ranges::any_of(
          record().workers, [](const automl::WorkerRecord& w) { return w.left_s.has_value(); });
    };
    ASSERT_TRUE(eventually(lost, 60s));
    const auto before = done();
    ASSERT_TRUE(eventually([&] { return done() > before; }, 60s)) << "the other does not go on";
    send_signal(workers[0], SIGCONT);
    ASSERT_TRUE(eventually([&] { return record().workers.size() == 3; }, 60s))
        << "it is not taken back";
    const auto again = done();
    ASSERT_TRUE(eventually([&] { return done() > again + 2; }, 60s));
    for (const pid_t worker : workers_in(folder_)) send_signal(worker, SIGSTOP);
  }
  // After the run has ended.
  void check_end(const Json& result) const {
    const std::string reason = result["cases"][0]["rounds"][0]["reason"];
    EXPECT_NE(reason.find("no worker is left: worker 0 on "), std::string::npos) << reason;
    EXPECT_NE(reason.find("worker 1 on "), std::string::npos) << reason;
    EXPECT_NE(reason.find("nothing was heard of it for"), std::string::npos) << reason;
    const automl::ExperimentRecord whole = record();
    EXPECT_EQ(whole.ended, automl::ExperimentEnd::failed);
    for (const automl::TrialRecord& trial : whole.trials) {
      EXPECT_NE(trial.status, automl::TrialStatus::failed) << trial.reason;
    }
  }

 private:
  fs::path folder_;
};

class Automl : public AssayTest {
 protected:
  fs::path suite(const std::string& ending, int procs = 2) const {
    return write("suite.yaml", tiny_search("", "procs: " + std::to_string(procs), ending));
  }
  [[nodiscard]] fs::path experiment() const { return latest() / "search/round1/automl"; }
  [[nodiscard]] automl::ExperimentRecord record() const {
    return automl::record_of(automl::ExperimentJournal::read(experiment() / "journal.jsonl"));
  }
  [[nodiscard]] bool has_done(std::int64_t trials) const {
    if (!fs::exists(folder_ / "results/latest") || !fs::exists(experiment())) return false;
    const automl::ExperimentRecord now = record();
    return std::ranges::count(now.trials, automl::TrialStatus::ok, &automl::TrialRecord::status) >=
           trials;
  }
  static std::set<std::int64_t> finished(const automl::ExperimentRecord& record) {
    std::set<std::int64_t> ids;
    for (const automl::TrialRecord& trial : record.trials)
      if (trial.status == automl::TrialStatus::ok) ids.insert(trial.id);
    return ids;
  }
};

TEST_F(Automl, ExperimentRunsToItsScoreAndIsReportedTheSameAgain) {
  const CommandResult run =
      assay({"run", suite("      max_trials: 4\n").string()}, std::chrono::seconds(170));
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const automl::ExperimentRecord done = record();
  EXPECT_EQ(done.ended, automl::ExperimentEnd::trials);
  EXPECT_EQ(finished(done).size(), 4U);
  EXPECT_GT(done.final.ops, 0);
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["status"], "completed");
  EXPECT_NE(dump_line(round).find("automl_score"), std::string::npos);
  // The token is nowhere, and the result can be computed again from the evidence.
  const std::string before = read_file(latest() / "result.json");
  const std::string page = read_file(latest() / "Report_Succeed.html");
  EXPECT_FALSE(fs::exists(latest() / "Report_Failed.html"));
  fs::remove(latest() / "Report_Succeed.html");
  const CommandResult again = assay({"report", latest().string(), "--logs"}, 60s);
  ASSERT_EQ(again.status.code, 0) << again.out << again.err;
  EXPECT_NE(again.out.find("-logs.tar.gz"), std::string::npos) << again.out;
  EXPECT_TRUE(fs::exists(latest() / "logs/search_round1/graphs/3.json"));
  EXPECT_EQ(read_file(latest() / "result.json"), before);
  EXPECT_TRUE(read_file(latest() / "Report_Succeed.html") == page) << "not the same bytes";
  for (const auto& entry : fs::recursive_directory_iterator(latest()))
    if (entry.is_regular_file()) {
      EXPECT_FALSE(std::regex_search(read_file(entry.path()),
                                     std::regex("ASSAY_AUTOML_TOKEN[\": =]*[0-9A-Za-z]{8}")))
          << entry.path();
    }
}

TEST_F(Automl, StopKeepsTheScoreAndResumeGoesOn) {
  const pid_t pid = start({"run", suite("      max_trials: 6\n").string()});
  ASSERT_TRUE(eventually([&] { return has_done(2); }, 120s));
  // Packing would read files that are being written.
  const CommandResult early = assay({"report", latest().string(), "--logs"}, 60s);
  EXPECT_NE(early.err.find("the run is going on"), std::string::npos) << early.out << early.err;
  const CommandResult stop = assay({"stop", latest().string()}, 90s);
  EXPECT_EQ(stop.status.code, 0) << stop.out << stop.err;
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status.has_value());
  const automl::ExperimentRecord half = record();
  EXPECT_EQ(half.ended, automl::ExperimentEnd::stopped);
  EXPECT_GT(half.final.ops, 0);
  EXPECT_EQ(result()["cases"][0]["rounds"][0]["status"], "interrupted");
  EXPECT_NE(
      read_file(latest() / "Report_Failed.html").find("The score does not count; it would be"),
      std::string::npos);
  const CommandResult resumed = assay({"run", "--resume", latest().string()}, 170s);
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
  const automl::ExperimentRecord whole = record();
  EXPECT_EQ(whole.ended, automl::ExperimentEnd::trials);
  EXPECT_EQ(whole.resumed, 1);
  EXPECT_EQ(finished(whole).size(), 6U);
  EXPECT_GE(whole.elapsed_s, half.elapsed_s);
  // Totals are those of both parts, and that there were two is said.
  const Json round = result()["cases"][0]["rounds"][0];
  // (The first part had trained a little of what it could not finish.)
  EXPECT_GE(round["metrics"]["samples"]["value"], 6 * 128);
  EXPECT_NE(dump_line(round["metrics"]["samples"]).find("resumed once"), std::string::npos);
  EXPECT_NE(dump_line(round).find("automl-resumed"), std::string::npos);
  EXPECT_TRUE(fs::exists(latest() / "Report_Succeed.html"));
  EXPECT_FALSE(fs::exists(latest() / "Report_Failed.html"));
}

TEST_F(Automl, AKilledControllerLosesNoFinishedTrial) {
  const pid_t pid = start({"run", suite("      max_trials: 5\n").string()});
  ASSERT_TRUE(eventually([&] { return has_done(2); }, 120s));
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 10s).has_value());
  const std::set<std::int64_t> before = finished(record());
  const CommandResult resumed = assay({"run", "--resume", latest().string()}, 170s);
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
  const automl::ExperimentRecord whole = record();
  EXPECT_EQ(finished(whole).size(), 5U);
  for (const std::int64_t id : before)
    EXPECT_EQ(whole.trials.at(static_cast<std::size_t>(id)).attempts, 1) << "trial " << id;
}

TEST_F(Automl, GoesOnWithoutAWorkerThatIsKilled) {
  const pid_t pid = start({"run", suite("      max_trials: 5\n").string()});
  ASSERT_TRUE(eventually([&] { return has_done(1); }, 120s));
  pid_t victim = -1;
  for (const pid_t child : descendants_of(pid))
    if (read_file_or_empty("/proc/" + std::to_string(child) + "/cmdline").find("automl-worker") !=
        std::string::npos)
      victim = std::max(victim, child);
  ASSERT_GT(victim, 0);
  send_signal(victim, SIGKILL);
  const auto status = wait(pid, 150s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 0);
  const automl::ExperimentRecord done = record();
  EXPECT_EQ(finished(done).size(), 5U);
  EXPECT_TRUE(std::ranges::any_of(done.workers, [](const automl::WorkerRecord& worker) {
    return worker.left_s.has_value() && !worker.reason.empty();
  }));
  EXPECT_NE(dump_line(result()).find("ranks-ended-ok"), std::string::npos);  // said as a warning
}

TEST_F(Automl, TakesAStoppedWorkerBackAndEndsByNameWhenAllAreStopped) {
  const pid_t pid = start({"run", suite("      max_trials: 5000\n      silence: 6s\n").string()});
  StoppedWorkers stopped(folder_);
  ASSERT_NO_FATAL_FAILURE(stopped.stop_one_and_then_both());
  const auto status = wait(pid, 60s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 5);
  stopped.check_end(result());
  EXPECT_NE(dump_line(result()).find("automl-workers-kept"), std::string::npos);
  // That is no result, and its reason comes before what followed from it.
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["status"], "lost");
  EXPECT_EQ(round["metrics"]["automl_workers"]["value"], 2) << "who came back is no other";
  EXPECT_EQ(round["findings"][0]["reason"].get<std::string>().find("no worker is left: "), 0U)
      << round["findings"].dump();
  const auto before = static_cast<std::int64_t>(finished(record()).size());
  const pid_t again = start({"run", "--resume", latest().string()});
  EXPECT_TRUE(eventually([&] { return has_done(before + 1); }, 120s)) << "it does not go on";
  EXPECT_EQ(assay({"stop", latest().string()}, 90s).status.code, 0);
  EXPECT_TRUE(wait(again, 60s));
  EXPECT_EQ(record().resumed, 1);
}

TEST_F(Automl, FailsByNameWhenNoWorkerIsLeft) {
  const CommandResult run = assay({"run", suite("      max_trials: 5\n").string(), "--set",
                                   "cases.search.automl.data.train_sizes=128"},
                                  std::chrono::seconds(120));
  EXPECT_EQ(run.status.code, 5) << run.out << run.err;
  EXPECT_NE((run.out + run.err).find("train_size"), std::string::npos) << run.out << run.err;
}

TEST_F(Automl, TwoDevicesTrainOneTrial) {
  const CommandResult run =
      assay({"run", suite("      max_trials: 3\n      devices_per_trial: 2\n").string()}, 170s);
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const automl::ExperimentRecord done = record();
  EXPECT_EQ(done.workers.size(), 1U);
  EXPECT_EQ(finished(done).size(), 3U);
  EXPECT_EQ(done.trials.at(0).trained, 128);
  // What both logged adds up to what was reported: the score is measured, not claimed.
  const std::string metrics = dump_line(result()["cases"][0]["rounds"][0]["metrics"]);
  EXPECT_EQ(metrics.find("claimed"), std::string::npos) << metrics;
}

TEST_F(Automl, TwoGroupsOfANodeTrainTrialsOfTheirOwn) {
  const CommandResult run =
      assay({"run", suite("      max_trials: 4\n      devices_per_trial: 2\n", 4).string()}, 170s);
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const automl::ExperimentRecord done = record();
  EXPECT_EQ(done.workers.size(), 2U);
  EXPECT_EQ(finished(done).size(), 4U);
  std::set<std::int64_t> groups;
  for (const Json& event : automl::ExperimentJournal::read(experiment() / "journal.jsonl"))
    if (event["event"] == "started") groups.insert(event["worker"].get<std::int64_t>());
  EXPECT_EQ(groups, (std::set<std::int64_t>{0, 1})) << "one of them was idle";
  const std::string metrics = dump_line(result()["cases"][0]["rounds"][0]["metrics"]);
  EXPECT_EQ(metrics.find("claimed"), std::string::npos) << metrics;
}

// One of its two processes dies; the group is started again, as another part of the node's work.
TEST_F(Automl, AGroupThatLostAProcessComesBack) {
  const pid_t pid = start({"run", suite("      max_trials: 5000\n      max_duration: 100s\n"
                                        "      devices_per_trial: 2\n")
                                      .string()});
  ASSERT_TRUE(eventually([&] { return has_done(1); }, 120s));
  // What dies within its first 30 s may not be able to live at all.
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_TRUE(eventually([&] { return std::chrono::steady_clock::now() - begun > 31s; }, 60s));
  const std::vector<pid_t> workers = workers_in(folder_);
  ASSERT_EQ(workers.size(), 2U);
  send_signal(workers[1], SIGKILL);
  ASSERT_TRUE(eventually([&] { return record().workers.size() == 2; }, 90s))
      << "it is not started again";
  const auto done = static_cast<std::int64_t>(finished(record()).size());
  EXPECT_TRUE(eventually([&] { return has_done(done + 2); }, 90s)) << "it does not train";
  const auto status = wait(pid, 150s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0) << read_file_or_empty(folder_ / "assay.log");
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["metrics"]["automl_score"]["origin"], "measured");
  const std::string said = dump_line(round["findings"]);
  for (const char* rule : {"automl-reports", "evidence-", "telemetry-gaps"})
    EXPECT_EQ(said.find("\"rule\":\"" + std::string(rule)), std::string::npos) << said;
  for (const auto& entry : fs::directory_iterator(latest() / "search/round1"))
    if (entry.path().filename().string().ends_with("_noderank0.part2")) {
      EXPECT_TRUE(fs::exists(entry.path() / "rank1.out.log"));
      return;
    }
  FAIL() << "the logs of the second part are nowhere";
}

TEST_F(Automl, DevicesHaveToBeWholeGroups) {
  const CommandResult run =
      assay({"run", suite("      devices_per_trial: 2\n", 3).string(), "--dry-run"});
  EXPECT_EQ(run.status.code, 2);
  EXPECT_NE(run.err.find("cannot be shared out by devices_per_trial: 2"), std::string::npos)
      << run.err;
}

TEST_F(Automl, BadSettingsAreNamedBeforeAnythingStarts) {
  const CommandResult run = assay({"run", suite("      max_trails: 5\n").string(), "--dry-run"});
  EXPECT_EQ(run.status.code, 2);
  EXPECT_NE(run.err.find("did you mean 'max_trials'?"), std::string::npos) << run.err;
}

// A node that dies and a controller that is killed, on one experiment of four nodes.
class AutomlOnSlurm : public SlurmTest {
 protected:
  [[nodiscard]] automl::ExperimentRecord record() const {
    const fs::path file = folder_ / "results/latest/search/round1/automl/journal.jsonl";
    return automl::record_of(automl::ExperimentJournal::read(file));
  }
  [[nodiscard]] auto done() const {
    return std::ranges::count(record().trials, automl::TrialStatus::ok,
                              &automl::TrialRecord::status);
  }
  [[nodiscard]] pid_t worker_on(const std::string& node) const {
    for (const pid_t pid : processes_with(node + "_noderank"))
      if (read_file_or_empty("/proc/" + std::to_string(pid) + "/cmdline").find(folder_.string()) !=
          std::string::npos)
        return pid;
    return -1;
  }
  static pid_t parent_of(pid_t pid) {
    const std::string stat = read_file_or_empty("/proc/" + std::to_string(pid) + "/stat");
    const auto at = stat.rfind(')');
    return at == std::string::npos ? -1 : std::atoi(stat.c_str() + at + 4);
  }
};

TEST_F(AutomlOnSlurm, GoesOnWithoutANodeAndAfterItsControllerWasKilled) {
  if (!cluster_.missing().empty()) GTEST_SKIP() << cluster_.missing();
  ASSERT_EQ(cluster_.broken(), "");
  const fs::path suite =
      write("suite.yaml", tiny_search("cluster: {launcher: slurm, slurm: {exclusive: false}}\n",
                                      "nodes: 4", "      max_trials: 16\n"));
  const pid_t pid = start({"run", suite.string()});
  ASSERT_TRUE(eventually([&] { return done() >= 2; }, 120s));
  const pid_t worker = worker_on("n2");
  ASSERT_GT(worker, 0);
  const pid_t step = parent_of(parent_of(worker));
  cluster_.kill("n2");
  send_signal(step, SIGKILL);
  ASSERT_TRUE(eventually(
      [&] {
        return std::ranges::any_of(
            record().workers, [](const automl::WorkerRecord& w) { return w.left_s.has_value(); });
      },
      60s));
  const auto before = done();
  ASSERT_TRUE(eventually([&] { return done() > before; }, 60s)) << "it does not go on";
  send_signal(pid, SIGKILL);
  ASSERT_TRUE(wait(pid, 10s).has_value());
  const auto kept = done();
  cluster_.restart("n2");
  // Slurm itself gives an allocation back whose node and owner died when it has noticed the node's
  // death, which takes its SlurmdTimeout: an operator would not wait either.
  for (const std::string& job : SlurmCluster::jobs()) (void)run_command({"scancel", job});
  ASSERT_TRUE(eventually([] { return SlurmCluster::jobs().empty(); }, 60s));
  const CommandResult resumed =
      assay({"run", "--resume", (folder_ / "results/latest").string()}, 170s);
  EXPECT_EQ(resumed.status.code, 0) << resumed.out << resumed.err;
  const automl::ExperimentRecord whole = record();
  EXPECT_EQ(whole.ended, automl::ExperimentEnd::trials);
  EXPECT_EQ(done(), 16);
  EXPECT_GE(done(), kept);
}

TEST_F(AutomlOnSlurm, TakesAStoppedWorkerBackAndEndsByNameWhenAllAreStopped) {
  if (!cluster_.missing().empty()) GTEST_SKIP() << cluster_.missing();
  ASSERT_EQ(cluster_.broken(), "");
  const fs::path suite =
      write("suite.yaml", tiny_search("cluster: {launcher: slurm, slurm: {exclusive: false}}\n",
                                      "nodes: 2", "      max_trials: 5000\n      silence: 6s\n"));
  const pid_t pid = start({"run", suite.string()});
  StoppedWorkers stopped(folder_);
  ASSERT_NO_FATAL_FAILURE(stopped.stop_one_and_then_both());
  const auto status = wait(pid, 90s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 5);
  stopped.check_end(result());
}

// The allocation and slurmd are as they were: a step of the node's own brings the agent back.
TEST_F(AutomlOnSlurm, ANodeComesBackWhoseAgentWasKilled) {
  if (!cluster_.missing().empty()) GTEST_SKIP() << cluster_.missing();
  ASSERT_EQ(cluster_.broken(), "");
  const fs::path suite = write(
      "suite.yaml", tiny_search("cluster: {launcher: slurm, slurm: {exclusive: false}}\n",
                                "nodes: 2", "      max_trials: 5000\n      max_duration: 120s\n"));
  const pid_t pid = start({"run", suite.string()});
  ASSERT_TRUE(eventually([&] { return done() >= 4; }, 120s));
  const pid_t worker = worker_on("n2");
  ASSERT_GT(worker, 0);
  const pid_t agent = parent_of(worker);
  send_signal(agent, SIGKILL);
  ASSERT_TRUE(eventually([&] { return record().workers.size() == 3; }, 90s))
      << "it is not started again" << read_file_or_empty(folder_ / "assay.log");
  const auto status = wait(pid, 180s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0) << read_file_or_empty(folder_ / "assay.log");
  const Json round = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(round["validity"], "VALID") << dump_line(round["findings"]);
  EXPECT_EQ(round["metrics"]["automl_score"]["origin"], "measured");
}

class AutomlOverSsh : public SshTest {};

TEST_F(AutomlOverSsh, TakesAStoppedWorkerBackAndEndsByNameWhenAllAreStopped) {
  if (!sshd_.missing().empty()) GTEST_SKIP() << sshd_.missing();
  const fs::path suite = write("suite.yaml", tiny_search(sshd_.cluster(2), "nodes: 2",
                                                         "      max_trials: 5000\n"
                                                         "      silence: 6s\n"));
  const pid_t pid = start({"run", suite.string()});
  StoppedWorkers stopped(folder_);
  ASSERT_NO_FATAL_FAILURE(stopped.stop_one_and_then_both());
  const auto status = wait(pid, 90s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 5);
  stopped.check_end(result());
}

// The workers, their libraries and their logs travel.
TEST_F(AutomlOverSsh, WorkersOfTwoHostsShareAnExperiment) {
  if (!sshd_.missing().empty()) GTEST_SKIP() << sshd_.missing();
  const fs::path suite =
      write("suite.yaml", tiny_search(sshd_.cluster(2), "nodes: 2", "      max_trials: 6\n"));
  const CommandResult run = assay({"run", suite.string()}, 200s);
  ASSERT_EQ(run.status.code, 0) << run.out << run.err;
  const fs::path round = latest() / "search/round1";
  const automl::ExperimentRecord record =
      automl::record_of(automl::ExperimentJournal::read(round / "automl/journal.jsonl"));
  EXPECT_EQ(record.ended, automl::ExperimentEnd::trials);
  EXPECT_GT(record.final.ops, 0);
  EXPECT_EQ(
      std::ranges::count(record.trials, automl::TrialStatus::ok, &automl::TrialRecord::status), 6);
  std::set<int> joined;
  for (const automl::WorkerRecord& worker : record.workers) joined.insert(worker.rank);
  EXPECT_EQ(joined, (std::set<int>{0, 1}));
  for (int node = 0; node < 2; ++node) {
    const std::string host = SshDaemon::host(node + 1) + "_noderank" + std::to_string(node);
    EXPECT_NE(
        read_file(round / host / ("rank" + std::to_string(node) + ".out.log")).find("\"FINISHED\""),
        std::string::npos);
  }
}

// Two hosts whose links can be cut.
class AutomlBehindACutLink : public AssayTest {
 protected:
  void SetUp() override {
    AssayTest::SetUp();
    if (!hosts_.missing().empty()) GTEST_SKIP() << hosts_.missing();
  }
  [[nodiscard]] automl::ExperimentRecord record() const {
    return automl::record_of(automl::ExperimentJournal::read(
        folder_ / "results/latest/search/round1/automl/journal.jsonl"));
  }
  // Of trials that ended well, by the worker.
  [[nodiscard]] auto done_by(int worker) const {
    const automl::ExperimentRecord now = record();
    return std::ranges::count_if(now.trials, [&](const automl::TrialRecord& trial) {
      return trial.status == automl::TrialStatus::ok && trial.worker == worker;
    });
  }
  [[nodiscard]] bool journal_has(const std::string& event) const {
    return read_file_or_empty(folder_ / "results/latest/journal.jsonl")
               .find("\"event\":\"" + event + "\"") != std::string::npos;
  }

  NamespaceHosts hosts_{folder_, 2};
};

TEST_F(AutomlBehindACutLink, AWorkerIsTakenBackWhenTheLinkIs) {
  std::string suite = tiny_search(hosts_.cluster("connect_timeout: 5s"), "nodes: 2",
                                  "      max_trials: 5000\n      max_duration: 180s\n"
                                  "      silence: 10s\n");
  const std::string off = "telemetry: {enabled: false}\n";
  ASSERT_EQ(suite.find(off), 0U);
  const pid_t pid = start({"run", write("suite.yaml", suite.substr(off.size())).string()});
  ASSERT_TRUE(eventually([&] { return done_by(1) >= 1; }, 180s))
      << read_file_or_empty(folder_ / "assay.log");
  hosts_.net().cut(2);
  ASSERT_TRUE(eventually([&] { return journal_has("node_away"); }, 60s));
  // Behind the cut everything ends, which the host shows.
  const auto gone = [&] {
    return processes_with((hosts_.cache() / NamespaceHosts::host(2)).string()).empty();
  };
  ASSERT_TRUE(eventually(gone, 90s));
  const auto before = done_by(1);
  hosts_.net().restore(2);
  ASSERT_TRUE(eventually([&] { return journal_has("node_again"); }, 120s))
      << read_file_or_empty(folder_ / "assay.log");
  ASSERT_TRUE(eventually([&] { return done_by(1) >= before + 2; }, 120s)) << "it does not train";
  const auto status = wait(pid, 200s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0) << read_file_or_empty(folder_ / "assay.log");
  // Nothing is lost: both parts of the node's logs are here, and what they say is what was
  // reported.
  const fs::path round = latest() / "search/round1";
  EXPECT_TRUE(fs::exists(round / "n2_noderank1/rank1.out.log"));
  EXPECT_TRUE(fs::exists(round / "n2_noderank1.part2/rank1.out.log"));
  const Json judged = result()["cases"][0]["rounds"][0];
  EXPECT_EQ(judged["validity"], "VALID");
  const std::string said = dump_line(judged["findings"]);
  for (const char* rule : {"automl-reports", "evidence-", "telemetry-gaps"})
    EXPECT_EQ(said.find("\"rule\":\"" + std::string(rule)), std::string::npos) << said;
  EXPECT_NE(said.find("automl-workers-kept"), std::string::npos) << said;
  EXPECT_EQ(judged["metrics"]["automl_score"]["origin"], "measured");
  EXPECT_TRUE(eventually(gone, 30s)) << "something is left on the host";
}

}  // namespace
}  // namespace assay::e2e
