#include <csignal>
#include <deque>
#include <fstream>

#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/subprocess.h"
#include "evidence/seal.h"
#include "launch/run_loop.h"
#include "launch/run_records.h"
#include "temporary_folder.h"

namespace assay::launch {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class QuietObserver : public Observer {
 public:
  void round_started(const plan::CasePlan&, int, int done, int total) override {
    begun.emplace_back(done + 1, total);
  }
  void round_progress(const plan::CasePlan&, int, const RoundProgress&) override {}
  void round_ended(const plan::CasePlan&, int, const RoundOutcome&) override {}
  void waiting(const std::string&) override {}
  void warning(const std::string& text) override { warnings.push_back(text); }
  void remark(const std::string& text) override { remarks.push_back(text); }
  void stopping(int) override {}
  std::vector<std::string> warnings;
  std::vector<std::string> remarks;
  std::vector<std::pair<int, int>> begun;  // which round of how many
};

/// What a backend is asked for, and what it answers.
struct Script {
  std::vector<std::string> calls;
  std::deque<RoundOutcome> outcomes;  // of the rounds to come; completed when there are no more
  std::function<void(const RoundTask&)> during_round;
  Json device_states = Json::array();
  std::set<std::pair<std::string, int>> without_nodes{};  // rounds that cannot have their nodes
  std::pair<std::string, int> ends_when_interrupted{};    // the round, well
};

class ScriptedBackend : public Backend {
 public:
  ScriptedBackend(const BackendContext& context, Script& script)
      : script_(script),
        journal_(context.journal),
        interrupted_(context.loop, asio::steady_timer::time_point::max()) {}

  asio::awaitable<void> prepare() override {
    script_.calls.emplace_back("prepare");
    co_return;
  }
  asio::awaitable<Json> describe() override {
    script_.calls.emplace_back("describe");
    co_return Json::array({{{"node", 0}, {"host", "h"}}});
  }
  asio::awaitable<Json> device_states() override { co_return script_.device_states; }
  asio::awaitable<void> prepare_round(const RoundTask& task) override {
    if (script_.without_nodes.contains({task.plan_case.name, task.number}))
      throw NodesMissing(ErrorKind::launch, "n2 is away");
    co_return;
  }
  asio::awaitable<RoundOutcome> run_round(const RoundTask& task) override {
    script_.calls.push_back(task.plan_case.name + " " + std::to_string(task.number));
    journal_.append(store::JournalEvent::round_start,
                    {{"case", task.plan_case.name}, {"round", task.number}});
    if (script_.during_round) script_.during_round(task);
    asio::error_code ec;
    if (script_.ends_when_interrupted == std::pair(task.plan_case.name, task.number))
      co_await interrupted_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    if (script_.outcomes.empty()) co_return RoundOutcome{};
    const RoundOutcome outcome = script_.outcomes.front();
    script_.outcomes.pop_front();
    if (outcome.status == RoundStatus::interrupted)
      co_await interrupted_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    co_return outcome;
  }
  void interrupt(int times) override {
    script_.calls.push_back("interrupt " + std::to_string(times));
    interrupted_.cancel();
  }
  asio::awaitable<void> close() override {
    script_.calls.emplace_back("close");
    co_return;
  }

 private:
  Script& script_;
  store::Journal& journal_;
  asio::steady_timer interrupted_;
};

class RunLoopTest : public ::testing::Test {
 protected:
  RunLoopTest() {
    ::setenv("ASSAY_KEYS", (folder_.path() / "keys").c_str(), 1);
    plan_.run_id = "run1";
    for (const char* name : {"a", "b"}) {
      plan::CasePlan& plan_case = plan_.cases.emplace_back();
      plan_case.name = name;
      plan_case.repeats = 2;
    }
  }

  RunStatus execute() {
    const store::RunDir run = std::filesystem::exists(folder_.path() / "run1")
                                  ? store::RunDir::open(folder_.path() / "run1")
                                  : store::RunDir::create(folder_.path(), plan_);
    RunLoop loop(run, observer_, [this](const BackendContext& context) {
      return std::make_unique<ScriptedBackend>(context, script_);
    });
    if (enough_) loop.repeat_until(enough_);
    if (unmet_) loop.run_only_if(unmet_);
    return loop.execute();
  }
  [[nodiscard]] std::vector<std::string> journal(const std::string& event) const {
    std::vector<std::string> out;
    for (const Json& line : store::Journal::read(folder_.path() / "run1" / "journal.jsonl"))
      if (line["event"] == event)
        out.push_back(line.value("case", "") + std::to_string(line.value("round", 0)) + " " +
                      line.value("status", ""));
    return out;
  }

  [[nodiscard]] evidence::SealCheck seal() const {
    const std::filesystem::path run = folder_.path() / "run1";
    return evidence::verify_seal(
        read_file_or_empty(run / "seal.json"), "run1",
        [&](const std::string& name) { return evidence::measure_file(run / name, name); });
  }

  testing::TemporaryFolder folder_;
  plan::Plan plan_;
  Script script_;
  QuietObserver observer_;
  RunLoop::EnoughRounds enough_;
  RunLoop::UnmetCondition unmet_;
};

/// Cases a, b and c with one round each.
class PreconditionTest : public RunLoopTest {
 protected:
  PreconditionTest() {
    plan_.cases.emplace_back().name = "c";
    for (plan::CasePlan& plan_case : plan_.cases) plan_case.repeats = 1;
  }
  static plan::Hook hook(const std::string& name, plan::HookTime when, const std::string& script,
                         Nanoseconds time = std::chrono::seconds(60)) {
    plan::Hook out;
    out.name = name;
    out.when = when;
    out.command = {"/bin/sh", "-c", script};
    out.time = time;
    return out;
  }
  plan::Hook on_nodes(const std::string& name, plan::HookTime when) {
    plan::Hook out = hook(name, when, "");
    out.on = plan::HookPlace::nodes;
    return out;
  }
  [[nodiscard]] std::string journal_text() const {
    return read_file(folder_.path() / "run1" / "journal.jsonl");
  }
  [[nodiscard]] std::vector<std::string> skips() const {
    std::vector<std::string> out;
    for (const Json& line : store::Journal::read(folder_.path() / "run1" / "journal.jsonl"))
      if (line["event"] == "case_skipped")
        out.push_back(line.value("case", "") + " " + line.value("cause", "") + ": " +
                      line.value("reason", ""));
    return out;
  }
  [[nodiscard]] std::string output(const std::string& hook_folder, int round = 1) const {
    return read_file_or_empty(folder_.path() / "run1" / hook_folder /
                              ("round" + std::to_string(round)) / "hook.log");
  }
  static constexpr auto kBefore = plan::HookTime::before;
  static constexpr auto kAfter = plan::HookTime::after;
};

/// One case, "a", that is repeated until its result is certain.
class RepeatUntilTest : public RunLoopTest {
 protected:
  RepeatUntilTest() {
    plan_.cases.resize(1);
    plan_.cases[0].repeats = 6;
    plan_.cases[0].until = plan::RepeatUntil{0.02, 3};
    enough_ = [this](const plan::CasePlan&) -> std::optional<std::string> {
      ++asked_;
      if (journal("round_end").size() < enough_after_) return std::nullopt;
      return "it is certain";
    };
  }
  std::size_t enough_after_ = 4;
  int asked_ = 0;
};

TEST_F(RunLoopTest, RunsEveryRoundOfEveryCaseInOrder) {
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls,
              ElementsAre("prepare", "describe", "a 1", "a 2", "b 1", "b 2", "close"));
  EXPECT_THAT(journal("round_end"),
              ElementsAre("a1 completed", "a2 completed", "b1 completed", "b2 completed"));
  EXPECT_THAT(journal("run_end"), ElementsAre("0 completed"));
}

TEST_F(RunLoopTest, WarmUpRoundsComeFirstAndTheirFailureIsNotTheRuns) {
  plan_.cases.resize(1);
  plan_.cases[0].warmup_rounds = 1;
  script_.outcomes = {{RoundStatus::failed, "cold"}};
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "a 1", "a 2", "a 3", "close"));
  EXPECT_THAT(journal("round_end"), ElementsAre("a1 failed", "a2 completed", "a3 completed"));
}

TEST_F(RunLoopTest, ResumingWarmsUpOnlyForRoundsThatAreToCome) {
  plan_.cases.resize(1);
  plan_.cases[0].warmup_rounds = 2;
  script_.outcomes = {{RoundStatus::completed}, {RoundStatus::lost, "x"}};
  EXPECT_EQ(execute(), RunStatus::completed);
  script_.calls.clear();
  EXPECT_EQ(execute(), RunStatus::completed) << "nothing that counts is left to warm up for";
  EXPECT_THAT(script_.calls, ElementsAre());
}

TEST_F(RunLoopTest, AWarmUpThatWasInterruptedIsRunAgain) {
  plan_.cases.resize(1);
  plan_.cases[0].warmup_rounds = 2;
  script_.outcomes = {{RoundStatus::completed}, {RoundStatus::interrupted, "stopped by the user"}};
  script_.during_round = [](const RoundTask& task) {
    if (task.number == 2) ::raise(SIGTERM);
  };
  EXPECT_EQ(execute(), RunStatus::interrupted);
  script_.during_round = {};
  script_.calls.clear();
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "a 2", "a 3", "a 4", "close"));
}

TEST_F(RepeatUntilTest, EndsWhenTheRoundsAreEnoughAndSaysWhy) {
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls,
              ElementsAre("prepare", "describe", "a 1", "a 2", "a 3", "a 4", "close"));
  EXPECT_EQ(asked_, 2) << "not before its fewest rounds";
  EXPECT_THAT(read_file(folder_.path() / "run1" / "journal.jsonl"),
              HasSubstr(R"("event":"repeats_end")"));
  EXPECT_THAT(observer_.remarks, ElementsAre("a: no round after 4 rounds: it is certain"));
}

TEST_F(RepeatUntilTest, EndsAtItsLimit) {
  enough_after_ = 100;
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_EQ(journal("round_end").size(), 6U);
  EXPECT_THAT(observer_.remarks, ElementsAre("a: no round after 6 rounds: more are not allowed"));
}

TEST_F(RepeatUntilTest, CountsNoWarmUpRound) {
  plan_.cases[0].warmup_rounds = 2;
  enough_after_ = 0;
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_EQ(journal("round_end").size(), 5U);
  EXPECT_THAT(observer_.remarks, ElementsAre("a: no round after 3 rounds: it is certain"));
}

TEST_F(RepeatUntilTest, GoesOnWhereItWasInterrupted) {
  script_.outcomes = {{RoundStatus::completed},
                      {RoundStatus::completed},
                      {RoundStatus::completed},
                      {RoundStatus::interrupted, "stopped by the user"}};
  script_.during_round = [](const RoundTask& task) {
    if (task.number == 4) ::raise(SIGTERM);
  };
  EXPECT_EQ(execute(), RunStatus::interrupted);
  EXPECT_TRUE(journal("repeats_end").empty());
  script_.during_round = {};
  script_.calls.clear();
  asked_ = 0;
  enough_after_ = 6;
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "a 4", "a 5", "close"));
  EXPECT_EQ(asked_, 2) << "a round that was begun is run to its end";
}

TEST_F(RepeatUntilTest, KeepsItsDecisionWhenItIsResumed) {
  (void)execute();
  script_.calls.clear();
  asked_ = 0;
  enough_after_ = 100;
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre());
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(journal("repeats_end").size(), 1U);
}

TEST_F(RepeatUntilTest, DecidesAgainWhenAFailedRoundIsReopened) {
  script_.outcomes = {{RoundStatus::completed}, {RoundStatus::completed}, {RoundStatus::failed}};
  enough_after_ = 3;
  EXPECT_EQ(execute(), RunStatus::failed);
  const store::RunDir run = store::RunDir::open(folder_.path() / "run1");
  EXPECT_EQ(reopen_failed_rounds(run), 1);
  script_.calls.clear();
  enough_after_ = 5;
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "a 3", "a 4", "close"));
  EXPECT_EQ(journal("repeats_end").size(), 2U);
}

TEST_F(RunLoopTest, ListsTheFilesOfARoundThatNoAgentListed) {
  plan_.cases.resize(1);
  plan_.cases[0].repeats = 1;
  script_.during_round = [&](const RoundTask&) {
    folder_.write("run1/a/round1/automl/journal.jsonl", "{}\n");
    folder_.write("run1/a/round1/h_noderank0/rank0.out.log", "listed by its agent\n");
    folder_.write("run1/a/round1/i_noderank1/rank1.out.log", "of an agent that was lost\n");
  };
  RoundOutcome outcome;
  outcome.listed = {"h_noderank0"};
  script_.outcomes = {outcome};
  (void)execute();
  std::vector<std::string> names;
  for (const Json& event : store::Journal::read(folder_.path() / "run1" / "journal.jsonl")) {
    if (event["event"] == "run_start") {
      EXPECT_EQ(event["evidence"], evidence::kVersion);
    }
    if (event["event"] == "round_files")
      for (const Json& file : event["files"]) names.push_back(file["name"]);
  }
  EXPECT_THAT(names, ElementsAre("automl/journal.jsonl", "i_noderank1/rank1.out.log"));
}

TEST_F(RunLoopTest, SealsTheRunAtItsEnd) {
  script_.during_round = [&](const RoundTask&) {
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "run1" / "seal.json"));
  };
  (void)execute();
  const evidence::SealCheck first = seal();
  EXPECT_TRUE(first.fits()) << first.problem;
  EXPECT_EQ(first.signature, evidence::SignatureState::valid);
  EXPECT_EQ(first.seal->files.size(), 3U);
  EXPECT_THAT(observer_.warnings, ElementsAre());
  std::ofstream(folder_.path() / "run1" / "journal.jsonl", std::ios::app) << "{}\n";
  EXPECT_FALSE(seal().fits());
}

TEST_F(RunLoopTest, SealsAnInterruptedRunAndAgainWhenItIsResumed) {
  script_.outcomes = {{RoundStatus::interrupted, "stopped by the user"}};
  script_.during_round = [](const RoundTask&) { std::raise(SIGINT); };
  EXPECT_EQ(execute(), RunStatus::interrupted);
  EXPECT_TRUE(seal().fits());
  script_.during_round = [&](const RoundTask&) {
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "run1" / "seal.json"));
  };
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_TRUE(seal().fits());
}

TEST_F(RunLoopTest, ARunWithNothingLeftToRunStaysAsItIs) {
  script_.outcomes = {{RoundStatus::failed, "x"}};
  EXPECT_EQ(execute(), RunStatus::failed);
  const std::string before = read_file(folder_.path() / "run1" / "seal.json");
  script_.calls.clear();
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(script_.calls, ElementsAre());
  EXPECT_EQ(read_file(folder_.path() / "run1" / "seal.json"), before);
  EXPECT_TRUE(seal().fits());
  std::filesystem::remove(folder_.path() / "run1" / "seal.json");
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "run1" / "seal.json"));
}

TEST_F(RunLoopTest, SaysThatItCannotSignAndSealsAllTheSame) {
  ::setenv("ASSAY_KEYS", "/dev/null/keys", 1);
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_TRUE(seal().fits());
  EXPECT_EQ(seal().signature, evidence::SignatureState::unsigned_);
  ASSERT_EQ(observer_.warnings.size(), 1U);
  EXPECT_THAT(observer_.warnings[0], HasSubstr("the run is not signed: "));
}

TEST_F(RunLoopTest, WritesWhatTheNodesAreOnce) {
  script_.outcomes = {{RoundStatus::lost, "x"}};
  (void)execute();
  EXPECT_THAT(read_file(folder_.path() / "run1" / "system.json"), HasSubstr("\"host\": \"h\""));
  script_.calls.clear();
  (void)execute();
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "a 1", "close"));
}

TEST_F(RunLoopTest, KeepsTheDevicesStateAfterTheRunBesideThatBefore) {
  const auto node = [&] {
    return parse_json(read_file(folder_.path() / "run1" / "system.json"), "system.json")
        .at("nodes")
        .at(0);
  };
  script_.device_states = Json::array({{{"node", 0}, {"state", {{"driver", "550"}}}}});
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_EQ(node()["host"], "h");
  EXPECT_EQ(node()["device_state_after"]["driver"], "550");
  EXPECT_TRUE(seal().fits());
}

TEST_F(RunLoopTest, AnInterruptedRunDoesNotWaitForTheDevices) {
  script_.device_states = Json::array({{{"node", 0}, {"state", {{"driver", "550"}}}}});
  script_.outcomes = {{RoundStatus::interrupted, "stopped by the user"}};
  script_.during_round = [](const RoundTask&) { std::raise(SIGINT); };
  EXPECT_EQ(execute(), RunStatus::interrupted);
  EXPECT_THAT(read_file(folder_.path() / "run1" / "system.json"),
              ::testing::Not(HasSubstr("device_state_after")));
}

TEST_F(RunLoopTest, ARoundThatIsLostIsRunAgainAsOftenAsTheSuiteSays) {
  plan_.cluster.retries = 1;
  plan_.cases.resize(1);
  plan_.cases[0].repeats = 1;
  script_.outcomes = {{RoundStatus::lost, "gone"}, {RoundStatus::lost, "gone again"}};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "a 1", "a 1", "close"));
  EXPECT_EQ(journal("round_retry").size(), 1U);
  EXPECT_THAT(journal("round_end"), ElementsAre("a1 lost", "a1 lost"));
}

TEST_F(RunLoopTest, ACaseThatCannotHaveItsNodesIsSkippedAndTheOthersAreRun) {
  script_.without_nodes = {{"a", 1}, {"a", 2}};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "b 1", "b 2", "close"));
  EXPECT_EQ(journal("case_skipped").size(), 1U);
  EXPECT_THAT(observer_.remarks, ElementsAre("a: skipped: n2 is away"));
  EXPECT_THAT(observer_.begun, ElementsAre(std::pair(1, 2), std::pair(2, 2)));

  script_.calls.clear();
  script_.without_nodes.clear();
  EXPECT_EQ(execute(), RunStatus::completed) << "the host is back";
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "a 1", "a 2", "close"));
}

TEST_F(RunLoopTest, NodesThatGoMissingKeepTheRoundsThatWereRun) {
  script_.without_nodes = {{"a", 2}};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "a 1", "b 1", "b 2", "close"));
  EXPECT_TRUE(journal("case_skipped").empty());
  EXPECT_THAT(observer_.warnings, ElementsAre("a: its other rounds are not run: n2 is away"));
}

TEST_F(RunLoopTest, NodesThatGoMissingHideNoRoundThatWasLost) {
  script_.outcomes = {{RoundStatus::lost, "gone"}};
  script_.without_nodes = {{"a", 2}};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_TRUE(journal("case_skipped").empty());
  EXPECT_THAT(journal("round_end"), Contains("a1 lost"));
  EXPECT_THAT(observer_.warnings, ElementsAre("a: its other rounds are not run: n2 is away"));
}

TEST_F(RunLoopTest, AFailedRoundIsAResultAndTheNextOnesAreRun) {
  script_.outcomes = {{RoundStatus::failed, "rank 0"}};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_EQ(journal("round_end").size(), 4U);
}

TEST_F(RunLoopTest, ACaseThatCannotBeStartedIsNotTriedAgain) {
  script_.outcomes = {{RoundStatus::launch_failed, "no such file"}};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "a 1", "b 1", "b 2", "close"));
}

TEST_F(RunLoopTest, ARoundThatCouldNotBeRecordedEndsItsCaseAndIsRunAgainWithFailed) {
  script_.outcomes = {{RoundStatus::unrecorded, "rank0.out.log could not be written on h"}};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(journal("round_end"), ElementsAre("a1 unrecorded", "b1 completed", "b2 completed"));
  EXPECT_THAT(journal("run_end"), ElementsAre("0 failed"));
  const store::RunDir run = store::RunDir::open(folder_.path() / "run1");
  EXPECT_EQ(reopen_failed_rounds(run), 1);
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(journal("round_end"), ElementsAre("a1 unrecorded", "b1 completed", "b2 completed",
                                                "a1 completed", "a2 completed"));
}

TEST_F(RunLoopTest, RecordsThePlanAndTheSystemInTheJournal) {
  script_.device_states = Json::array({{{"node", 0}, {"state", {{"devices", Json::array()}}}}});
  (void)execute();
  const std::filesystem::path run = folder_.path() / "run1";
  std::vector<std::string> plans;
  std::vector<std::string> systems;
  for (const Json& line : store::Journal::read(run / "journal.jsonl")) {
    if (!line.contains("files") || line["event"] == "round_files") continue;
    for (const Json& file : line["files"])
      (file["name"] == "plan.json" ? plans : systems).push_back(file["sha256"]);
  }
  EXPECT_THAT(plans, ElementsAre(evidence::measure_file(run / "plan.json", "")->sha256));
  ASSERT_EQ(systems.size(), 2U) << "before and after the rounds";
  EXPECT_EQ(systems[1], evidence::measure_file(run / "system.json", "")->sha256);
  EXPECT_NE(systems[0], systems[1]);
}

TEST_F(RunLoopTest, ResumingRunsOnlyWhatHasNoResult) {
  script_.outcomes = {
      {RoundStatus::completed}, {RoundStatus::failed, "x"}, {RoundStatus::lost, "y"}};
  (void)execute();
  script_.calls.clear();
  EXPECT_EQ(execute(), RunStatus::failed);  // a 2 failed, and that stays
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "b 1", "close"));
}

TEST_F(RunLoopTest, ReopenedRoundsAreRunAgainWheneverItIsResumed) {
  script_.outcomes = {{RoundStatus::completed},
                      {RoundStatus::failed, "x"},
                      {RoundStatus::timed_out, "y"},
                      {RoundStatus::stalled, "z"}};
  (void)execute();
  const store::RunDir run = store::RunDir::open(folder_.path() / "run1");
  EXPECT_EQ(reopen_failed_rounds(run), 3);
  EXPECT_EQ(reopen_failed_rounds(run), 0) << "they are open";
  EXPECT_THAT(journal("round_reopened"), ElementsAre("a2 failed", "b1 timed_out", "b2 stalled"));
  script_.calls.clear();
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "a 2", "b 1", "b 2", "close"));
  EXPECT_EQ(reopen_failed_rounds(run), 0);
}

TEST_F(RunLoopTest, AnInterruptEndsTheRunAfterTheRoundThatItReaches) {
  script_.during_round = [](const RoundTask&) { ::raise(SIGTERM); };
  script_.outcomes = {{RoundStatus::interrupted, "stopped by the user"}};
  EXPECT_EQ(execute(), RunStatus::interrupted);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "a 1", "interrupt 1", "close"));
  EXPECT_THAT(journal("round_end"), ElementsAre("a1 interrupted"));
  EXPECT_THAT(journal("run_end"), ElementsAre("0 interrupted"));
}

// Its ranks had come to their end and only slept: what was asked for ends nothing but that.
TEST_F(RunLoopTest, AnInterruptThatFindsNothingLeftToRunLeavesACompletedRun) {
  script_.during_round = [](const RoundTask& task) {
    if (task.plan_case.name == "b" && task.number == 2) ::raise(SIGTERM);
  };
  script_.ends_when_interrupted = {"b", 2};
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_EQ(script_.calls.at(script_.calls.size() - 2), "interrupt 1");
  EXPECT_THAT(journal("run_end"), ElementsAre("0 completed"));
}

TEST_F(RunLoopTest, AnInterruptAfterARoundThatIsNotTheLastCutsTheRunOff) {
  script_.during_round = [](const RoundTask&) { ::raise(SIGTERM); };
  script_.ends_when_interrupted = {"a", 1};
  EXPECT_EQ(execute(), RunStatus::interrupted);
  EXPECT_THAT(journal("round_end"), ElementsAre("a1 completed"));
}

TEST_F(RunLoopTest, AnErrorOfTheBackendLeavesARunThatCanBeResumed) {
  script_.during_round = [](const RoundTask& task) {
    if (task.plan_case.name == "b") throw Error(ErrorKind::launch, "no agents");
  };
  EXPECT_THROW((void)execute(), Error);
  EXPECT_THAT(journal("round_end"), ElementsAre("a1 completed", "a2 completed"));
  EXPECT_TRUE(journal("run_end").empty());
  script_.during_round = {};
  script_.calls.clear();
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "b 1", "b 2", "close"));
}

TEST_F(RunLoopTest, ShowsTheRoundThatRunsInLiveJsonWhileItRuns) {
  const auto live = folder_.path() / "run1" / "live.json";
  std::string seen;
  script_.during_round = [&](const RoundTask& task) {
    RoundProgress progress;
    progress.ranks = 3;
    progress.heartbeats[1].running = 2;
    task.on_progress(progress);
    if (seen.empty()) seen = read_file(live);
  };
  (void)execute();
  EXPECT_THAT(seen, HasSubstr("\"ranks\": 3"));
  EXPECT_THAT(seen, HasSubstr("\"node\": 1"));
  EXPECT_FALSE(std::filesystem::exists(live));
}

TEST_F(PreconditionTest, WhatComesAfterACaseThatFailedIsSkippedAndTakesItsOwnAlong) {
  plan_.cases[1].after = {"a"};
  plan_.cases[2].after = {"b"};
  script_.outcomes = {{RoundStatus::failed, "exit 1"}};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "a 1", "close"));
  EXPECT_THAT(
      skips(),
      ElementsAre("b dependency: it comes after 'a', which did not complete: round 1 failed",
                  "c dependency: it comes after 'b', which was skipped"));
}

TEST_F(PreconditionTest, WhatComesAfterACaseThatCompletedIsRun) {
  plan_.cases[1].after = {"a"};
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "a 1", "b 1", "c 1", "close"));
}

TEST_F(PreconditionTest, ResumingWithFailedRunsWhatWasSkippedForIt) {
  plan_.cases[1].after = {"a"};
  script_.outcomes = {{RoundStatus::failed, "exit 1"}};
  (void)execute();
  EXPECT_EQ(execute(), RunStatus::failed) << "a failure is a result";
  EXPECT_EQ(reopen_failed_rounds(store::RunDir::open(folder_.path() / "run1")), 1);
  script_.calls.clear();
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "a 1", "b 1", "close"));
}

TEST_F(PreconditionTest, ACaseWhoseConditionDoesNotHoldIsSkippedAndTheRunIsFine) {
  plan_.cases[1].only_if = {{"a", {"VALID"}}};
  unmet_ = [](const plan::CasePlan&) { return std::optional<std::string>("a is INVALID"); };
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "a 1", "c 1", "close"));
  EXPECT_THAT(skips(), ElementsAre("b condition: a is INVALID"));
}

TEST_F(PreconditionTest, AConditionThatNobodyCanJudgeDoesNotHold) {
  plan_.cases[1].only_if = {{"a", {"VALID"}}};
  (void)execute();
  EXPECT_EQ(skips().size(), 1U);
}

TEST_F(PreconditionTest, HooksRunAroundTheirCase) {
  plan_.cases.resize(1);
  const std::string log = (folder_.path() / "order").string();
  plan_.hooks = {hook("all", kBefore, "echo all >> " + log),
                 hook("end", kAfter, "echo end >> " + log)};
  plan_.cases[0].hooks = {hook("pre", kBefore, "echo pre $ASSAY_CASE >> " + log),
                          hook("post", kAfter, "echo post >> " + log)};
  script_.during_round = [&](const RoundTask&) { std::ofstream(log, std::ios::app) << "round\n"; };
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_EQ(read_file(log), "all\npre a\nround\npost\nend\n");
  EXPECT_THAT(
      journal("round_end"),
      ElementsAre("hook.before.all1 completed", "hook.before.pre.a1 completed", "a1 completed",
                  "hook.after.post.a1 completed", "hook.after.end1 completed"));
}

TEST_F(PreconditionTest, AHookThatFailsSkipsItsCaseAndIsCleanedUpAfter) {
  plan_.cases.resize(2);
  plan_.cases[0].hooks = {hook("pre", kBefore, "echo no such data >&2; exit 3"),
                          hook("post", kAfter, "true")};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "b 1", "close"));
  EXPECT_THAT(skips(), ElementsAre(AllOf(HasSubstr("a hook: the hook 'pre' before 'a' failed"),
                                         HasSubstr("exit 3: no such data"))));
  EXPECT_EQ(output("hook.before.pre.a"), "no such data\n");
  EXPECT_THAT(journal_text(), HasSubstr("hook.after.post.a"));
}

TEST_F(PreconditionTest, AHookThatMayFailIsAWarning) {
  plan_.cases.resize(1);
  plan_.cases[0].hooks = {hook("pre", kBefore, "exit 1")};
  plan_.cases[0].hooks[0].required = false;
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(observer_.warnings, ElementsAre(HasSubstr("hook 'pre' before 'a' failed")));
}

TEST_F(PreconditionTest, AFailedHookBeforeAllSkipsEveryCase) {
  plan_.hooks = {hook("pre", kBefore, "exit 1")};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "close"));
  EXPECT_EQ(skips().size(), 3U);
  plan_.hooks.clear();
  script_.calls.clear();
}

TEST_F(PreconditionTest, AProgramThatDoesNotExistIsNamed) {
  plan_.cases.resize(1);
  plan_.hooks = {hook("pre", kBefore, "")};
  plan_.hooks[0].command = {"/no/such/program"};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(skips(), ElementsAre(HasSubstr("/no/such/program")));
}

TEST_F(PreconditionTest, AHookThatHangsIgnoresSigtermAndForksIsEndedWithAllOfIt) {
  plan_.cases.resize(1);
  const std::string marker = "27.18" + std::to_string(::getpid());
  plan_.hooks = {hook("pre", kBefore,
                      "trap '' TERM; (trap '' TERM; setsid sleep " + marker + ") & sleep " +
                          marker + "; sleep " + marker,
                      std::chrono::milliseconds(300))};
  EXPECT_EQ(execute(), RunStatus::failed);
  EXPECT_THAT(skips(), ElementsAre(AllOf(HasSubstr("the hook 'pre' before all cases failed"),
                                         HasSubstr("ignored SIGTERM"))));
  const CommandResult left = run_command({"pgrep", "-f", "sleep " + marker});
  EXPECT_EQ(left.out, "") << "nothing is left of it";
}

TEST_F(PreconditionTest, AHookThatLeavesADaemonBehindIsSweptThoughItPassed) {
  plan_.cases.resize(1);
  const std::string marker = "16.18" + std::to_string(::getpid());
  plan_.hooks = {hook("pre", kBefore, "setsid sleep " + marker + " >/dev/null 2>&1 &")};
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_EQ(run_command({"pgrep", "-f", "sleep " + marker}).out, "");
}

TEST_F(PreconditionTest, OfAFloodTheBeginningIsKept) {
  plan_.cases.resize(1);
  plan_.hooks = {hook("pre", kBefore, "head -c 5000000 /dev/zero | tr '\\0' x")};
  EXPECT_EQ(execute(), RunStatus::completed);
  const std::string kept = output("hook.before.pre");
  EXPECT_LT(kept.size(), 1100000U);
  EXPECT_THAT(kept, HasSubstr("more bytes were not kept"));
}

TEST_F(PreconditionTest, HooksOnNodesAreRoundsOfTheBackend) {
  plan_.cases.resize(1);
  plan_.cases[0].nodes = 3;
  plan_.hooks = {on_nodes("all", kBefore)};
  plan_.cases[0].hooks = {on_nodes("pre", kBefore)};
  std::vector<int> nodes;
  script_.during_round = [&](const RoundTask& task) { nodes.push_back(task.plan_case.nodes); };
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre("prepare", "describe", "hook.before.all 1",
                                         "hook.before.pre.a 1", "a 1", "close"));
  EXPECT_THAT(nodes, ElementsAre(3, 3, 3));
}

TEST_F(PreconditionTest, ResumingRunsTheHooksOfWhatIsLeftAndNoOthers) {
  plan_.cases.resize(2);
  for (plan::CasePlan& plan_case : plan_.cases)
    plan_case.hooks = {on_nodes("pre", kBefore), on_nodes("post", kAfter)};
  script_.during_round = [](const RoundTask& task) {
    if (task.plan_case.name == "b") ::raise(SIGTERM);
  };
  script_.outcomes = {{}, {}, {}, {}, {RoundStatus::interrupted, "stopped by the user"}};
  EXPECT_EQ(execute(), RunStatus::interrupted);
  EXPECT_THAT(journal("round_end").back(), HasSubstr("b1 interrupted"));
  script_.during_round = {};
  script_.calls.clear();
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls,
              ElementsAre("prepare", "hook.before.pre.b 2", "b 1", "hook.after.post.b 1", "close"));
  script_.calls.clear();
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre());
}

TEST_F(PreconditionTest, WhatAHookLeftWhoseControllerWasKilledIsSweptByTheNext) {
  plan_.cases.resize(1);
  plan_.hooks = {hook("pre", kBefore, "true")};
  const store::RunDir run = store::RunDir::create(folder_.path(), plan_);
  store::Journal(run.journal_file())
      .append(store::JournalEvent::round_start,
              {{"case", "hook.before.pre"}, {"round", 1}, {"processes", "left/behind/1"}});
  SpawnOptions options;
  options.argv = {"sleep", "60"};
  options.env = environment_with({"ASSAY_ROUND_ID=left/behind/1"});
  Child left = spawn(options);
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_EQ(left.wait().signal, SIGKILL);
  EXPECT_THAT(journal("round_end"), ElementsAre("hook.before.pre2 completed", "a1 completed"));
}

TEST_F(PreconditionTest, InterruptingAHookEndsItAndTheRun) {
  plan_.cases.resize(1);
  plan_.hooks = {hook("pre", kBefore, "kill -TERM $PPID; sleep 60")};
  EXPECT_EQ(execute(), RunStatus::interrupted);
  EXPECT_THAT(journal("round_end"), ElementsAre("hook.before.pre1 interrupted"));
  EXPECT_TRUE(skips().empty()) << "nothing failed";
}

}  // namespace
}  // namespace assay::launch
