#include <csignal>
#include <fstream>

#include "launch/run_records.h"
#include "unit/launch/run_loop_test.h"

namespace assay::launch {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  EXPECT_EQ(journal("run_unsigned").size(), 1U);
}

// A folder in its place stands in for a full disk.
TEST_F(RunLoopTest, ASealThatCouldNotBeWrittenIsWrittenWhenTheRunGoesOn) {
  const std::filesystem::path place = folder_.path() / "run1" / "seal.json";
  script_.during_round = [&](const RoundTask&) {
    std::filesystem::create_directories(place / "in the way");
  };
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_EQ(journal("run_unsealed").size(), 1U);
  EXPECT_THAT(observer_.warnings, ::testing::Contains(HasSubstr("the run is not sealed: ")));
  std::filesystem::remove_all(place);
  script_.calls.clear();
  EXPECT_EQ(execute(), RunStatus::completed);
  EXPECT_THAT(script_.calls, ElementsAre()) << "nothing is run again";
  EXPECT_TRUE(seal().fits());
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

}  // namespace
}  // namespace assay::launch
