#include <filesystem>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/subprocess.h"
#include "error_of.h"
#include "exports/wandb.h"
#include "exports/wandb_log.h"
#include "unit/exports/result_of_one_round.h"
#include "unit/live/run_folder.h"

namespace assay::exports {
namespace {

using live::testing::RunFolder;
using testing::error_of;
using ::testing::HasSubstr;
using testing::result_of_one_round;

// What a reader finds in a log or a folder of runs that shares nothing with the writer.
Json read_wandb(const std::filesystem::path& path) {
  const testing::TemporaryFolder folder;
  const std::string out = folder.path() / "read.json";  // more than a command may print
  const CommandResult read = run_command(
      {"python3", ASSAY_SOURCE_DIR "/tests/unit/exports/read_wandb.py", path.string(), out});
  EXPECT_TRUE(read.ok()) << read.err;
  return parse_json(read_file(out), "read_wandb.py");
}

std::string step(double seconds, int number, const std::string& loss) {
  return fmt::format(
      "[PerfLog] {{\"event\": \"STEP_END\", \"value\": {{\"loss\": {}}}, \"step\": {}, "
      "\"metadata\": {{\"time_ms\": {}}}}}\n",
      loss, number, RunFolder::kStartMs + static_cast<std::int64_t>(seconds * 1e3));
}

// Lengths of records, and what the reader finds.
Json log_of(std::initializer_list<std::size_t> lengths) {
  const testing::TemporaryFolder folder;
  WandbLog log(folder.path() / "a.wandb");
  for (const std::size_t length : lengths) log.add(std::string(length, 'x'));
  log.finish();
  const Json read = read_wandb(folder.path() / "a.wandb");
  EXPECT_EQ(read["lengths"], Json(std::vector<std::size_t>(lengths)));
  return read["parts"];
}

constexpr std::size_t kRoom = WandbLog::kBlock - 2 * WandbLog::kHeader;  // of the first block
constexpr std::size_t kLater = WandbLog::kBlock - WandbLog::kHeader;     // of every other one
constexpr int kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4;

TEST(WandbLog, ARecordMayFillABlockToItsEnd) {
  EXPECT_EQ(log_of({kRoom, 10}), Json({{kFull, kRoom}, {kFull, 10}}));
  EXPECT_EQ(log_of({kRoom, kLater, 1}), Json({{kFull, kRoom}, {kFull, kLater}, {kFull, 1}}));
}

TEST(WandbLog, ARecordGoesOnInTheNextBlocks) {
  EXPECT_EQ(log_of({kRoom + 1}), Json({{kFirst, kRoom}, {kLast, 1}}));
  EXPECT_EQ(log_of({kRoom - 100, 200}), Json({{kFull, kRoom - 100}, {kFirst, 93}, {kLast, 107}}));
  EXPECT_EQ(log_of({kRoom + 2 * kLater}),
            Json({{kFirst, kRoom}, {kMiddle, kLater}, {kLast, kLater}}));
  EXPECT_EQ(log_of({kRoom + 2 * kLater + 1}),
            Json({{kFirst, kRoom}, {kMiddle, kLater}, {kMiddle, kLater}, {kLast, 1}}));
}

TEST(WandbLog, NoPartBeginsWhereItsHeaderHasNoRoom) {
  for (std::size_t left = 1; left < WandbLog::kHeader; ++left)
    EXPECT_EQ(log_of({kRoom - left, 5}), Json({{kFull, kRoom - left}, {kFull, 5}})) << left;
  // Just enough for a header: the client's writer begins there, too.
  EXPECT_EQ(log_of({kRoom - WandbLog::kHeader, 5}),
            Json({{kFull, kRoom - WandbLog::kHeader}, {kFirst, 0}, {kLast, 5}}));
}

TEST(WandbLog, SaysWhereItCannotBeWritten) {
  WandbLog log("/nowhere/a.wandb");
  EXPECT_THAT(error_of([&] { log.finish(); }), HasSubstr("/nowhere/a.wandb"));
}

class Wandb : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path folder() const { return temporary_.path() / "wandb"; }
  [[nodiscard]] WandbExport write() const {
    return export_wandb(RunFiles(run_.path()), result_, folder());
  }
  [[nodiscard]] Json written() const {
    (void)write();
    return read_wandb(folder())["c round 1"];
  }

  RunFolder run_;
  judge::RunResult result_ = result_of_one_round();
  assay::testing::TemporaryFolder temporary_;
};

TEST_F(Wandb, ARoundIsARunOfTheSuitesProject) {
  run_.append(RunFolder::log(0), step(1, 1, "0.9"));
  EXPECT_EQ(write().folders.size(), 1U);
  const Json run = read_wandb(folder())["c round 1"];
  EXPECT_EQ(run["run"]["project"], "my suite");
  EXPECT_EQ(run["run"]["group"], "run1");
  EXPECT_EQ(run["run"]["job_type"], "c");
  EXPECT_EQ(run["run"]["host"], "n0");
  EXPECT_EQ(run["run"]["tags"], Json({"assay", "VALID"}));
  EXPECT_EQ(run["run"]["config"]["config"]["batch_size"], 32);
  EXPECT_EQ(run["run"]["config"]["assay"]["round"], 1);
  EXPECT_THAT(run["config.yaml"].get<std::string>(),
              HasSubstr("\"config\":\n    value: {\"batch_size\":32}\n"));
  EXPECT_EQ(run["started"], "20261116_102657");
  EXPECT_EQ(run["run"]["start_time"], 1'794'824'817.0);
  EXPECT_EQ(run["summary"]["result/p_whole"], "12.5");
  EXPECT_EQ(run["summary"]["result/verdict"], "\"VALID\"");
  EXPECT_EQ(run["summary"]["_wandb"], "{\"runtime\":60}");
  EXPECT_EQ(run["exit_code"], 0);
  EXPECT_EQ(run["runtime"], 60);
}

TEST_F(Wandb, ARoundThatFailedIsARunThatFailed) {
  run_.append(RunFolder::log(0), step(1, 1, "0.9"));
  result_.cases[0].rounds[0].status = RoundStatus::failed;
  result_.cases[0].rounds[0].validity = judge::Validity::incomplete;
  result_.cases[0].rounds[0].reason = "rank 3 on node1: SIGSEGV";
  const Json run = written();
  EXPECT_EQ(run["exit_code"], 1);
  EXPECT_EQ(run["run"]["notes"], "rank 3 on node1: SIGSEGV");
  EXPECT_EQ(run["run"]["tags"][1], "INCOMPLETE");
}

TEST_F(Wandb, ARowOfHistoryHasAStepOfAllRanks) {
  run_.append(RunFolder::log(0), step(1, 10, "0.9") + step(2, 20, "0.8") + step(3, 30, "0.7"));
  run_.append(RunFolder::log(3), step(1.5, 10, "1.9") + step(3.5, 30, "1.7"));
  const Json history = written()["history"];
  ASSERT_EQ(history.size(), 3U);
  EXPECT_EQ(history[0]["_step"], "10");
  EXPECT_EQ(history[0]["train/loss"], "0.9");
  EXPECT_EQ(history[0]["rank3/train/loss"], "1.9");
  EXPECT_EQ(history[0]["_timestamp"], "1794799618.5") << "of the last rank";
  EXPECT_FALSE(history[1].contains("rank3/train/loss"));
  EXPECT_EQ(history[2]["speed/step_seconds"], "1");
  EXPECT_EQ(history[2]["rank3/train/loss"], "1.7");
  const Json summary = read_wandb(folder())["c round 1"]["summary"];
  EXPECT_EQ(summary["train/loss"], "0.7") << "the last value of each curve";
  EXPECT_EQ(summary["_step"], "30");
}

TEST_F(Wandb, StepsAreCountedOnWhereTheTrainerGoesBack) {
  run_.append(RunFolder::log(0), step(1, 10, "4") + step(2, 20, "3") + step(3, 11, "2") +
                                     step(4, 21, "1") + step(5, 21, "0"));
  const Json run = written();
  std::string steps;
  for (const Json& row : run["history"]) steps += row["_step"].get<std::string>() + " ";
  EXPECT_EQ(steps, "10 20 21 31 32 ");
}

TEST_F(Wandb, StepsThatNobodyCanCountStayNumbers) {
  std::string log;
  for (int i = 0; i < 2000; ++i)
    log += fmt::format(
        "[PerfLog] {{\"event\": \"STEP_END\", \"value\": {{\"loss\": 1}}, \"step\": {}, "
        "\"metadata\": {{\"time_ms\": {}}}}}\n",
        i % 2 == 0 ? std::numeric_limits<std::int64_t>::max() : -5, RunFolder::kStartMs + i);
  run_.append(RunFolder::log(0), log);
  EXPECT_EQ(written()["history"].size(), 2000U);
}

TEST_F(Wandb, EvaluationsAreOfTheStepBeforeThem) {
  const auto evaluate = [](double seconds, double accuracy) {
    return fmt::format(
        "[PerfLog] {{\"event\": \"EVALUATE\", \"value\": {{\"acc1\": {}}}, \"metadata\": "
        "{{\"time_ms\": {}}}}}\n",
        accuracy, RunFolder::kStartMs + static_cast<std::int64_t>(seconds * 1e3));
  };
  run_.append(RunFolder::log(0),
              evaluate(1, 0.1) + step(2, 1, "1") + evaluate(3, 0.4) + evaluate(3, 0.5));
  const Json history = written()["history"];
  ASSERT_EQ(history.size(), 2U);
  EXPECT_EQ(history[0]["_step"], "0");
  EXPECT_EQ(history[0]["evaluation/accuracy"], "0.1");
  EXPECT_EQ(history[1]["evaluation/accuracy"], "0.5") << "a step has one value of each";
  EXPECT_EQ(history[1]["train/loss"], "1");
}

TEST_F(Wandb, NumbersThatAreNotFiniteAreWrittenAsTheClientDoes) {
  run_.append(RunFolder::log(0),
              step(1, 1, "NaN") + step(2, 2, "Infinity") + step(3, 3, "-Infinity"));
  const Json history = written()["history"];
  EXPECT_EQ(history[0]["train/loss"], "NaN");
  EXPECT_EQ(history[1]["train/loss"], "Infinity");
  EXPECT_EQ(history[2]["train/loss"], "-Infinity");
}

TEST_F(Wandb, TelemetryIsSystemMetricsUnderTheClientsNames) {
  const auto table = [](int node) {
    return fmt::format(
        "mono_ns,wall_ns,source,util,mem_used_bytes,power_w,temp_c\n"
        "1,{0},node,0.25,1000,,\n1,{0},dev1,0.5,2000,300,60\n",
        (RunFolder::kStartMs + 7000 + node) * 1'000'000);
  };
  run_.append("c/round1/n0_noderank0/telemetry.csv", table(0));
  const Json alone = written()["stats"];
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_EQ(alone[0]["at"], 1'794'799'624.0);
  EXPECT_EQ(alone[0]["cpu"], "25");
  EXPECT_EQ(alone[0]["node.memory_bytes"], "1000");
  EXPECT_EQ(alone[0]["gpu.1.gpu"], "50");
  EXPECT_EQ(alone[0]["gpu.1.memoryAllocatedBytes"], "2000");
  EXPECT_EQ(alone[0]["gpu.1.powerWatts"], "300");
  EXPECT_EQ(alone[0]["gpu.1.temp"], "60");

  run_.append("c/round1/n1_noderank1/telemetry.csv", table(1));
  std::filesystem::remove_all(folder());
  const Json two = written()["stats"];
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0]["gpu.1.gpu/l:n0_0"], "50");
  EXPECT_EQ(two[1]["gpu.1.gpu/l:n1_1"], "50");
}

TEST_F(Wandb, TheSameRunGivesTheSameBytes) {
  run_.append(RunFolder::log(0), step(1, 1, "0.9"));
  const auto bytes = [&] {
    std::string all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder()))
      if (entry.is_regular_file())
        all += entry.path().filename().string() + read_file(entry.path());
    return all;
  };
  (void)write();
  const std::string first = bytes();
  std::filesystem::remove_all(folder());
  (void)write();
  EXPECT_EQ(bytes(), first);
}

TEST_F(Wandb, NothingIsWrittenWhereARoundIsThereAlready) {
  run_.append(RunFolder::log(0), step(1, 1, "0.9"));
  (void)write();
  judge::RoundResult before = result_.cases[0].rounds[0];
  before.round = 7;
  result_.cases[0].rounds.insert(result_.cases[0].rounds.begin(), before);
  EXPECT_THAT(error_of([&] { (void)write(); }), HasSubstr("round 1 of c is there already"));
  EXPECT_EQ(read_wandb(folder()).size(), 1U);
}

TEST_F(Wandb, RunsOfTheClientItselfMayBeThere) {
  run_.append(RunFolder::log(0), step(1, 1, "0.9"));
  temporary_.write("wandb/run-20260101_000000-abcdefgh/run-abcdefgh.wandb", "");
  EXPECT_EQ(write().folders.size(), 1U);
}

TEST_F(Wandb, AFolderOfSomethingElseIsLeftAlone) {
  run_.append(RunFolder::log(0), step(1, 1, "0.9"));
  temporary_.write("wandb/thesis.txt", "precious");
  EXPECT_THAT(error_of([&] { (void)write(); }), HasSubstr("something else than runs of W&B"));
}

TEST_F(Wandb, NamesThatAreNotUtf8DoNoHarm) {
  run_.append(RunFolder::log(0), step(1, 1, "0.9"));
  result_.cases[0].rounds[0].reason = "caf\xe9";
  EXPECT_EQ(written()["run"]["notes"], "caf\uFFFD");
}

TEST_F(Wandb, LongRunsCrossTheEndsOfManyBlocks) {
  std::string log;
  for (int i = 1; i <= 20'000; ++i) log += step(i * 0.01, i, std::to_string(i));
  run_.append(RunFolder::log(0), log);
  run_.append(RunFolder::log(1), log);
  const Json history = written()["history"];
  ASSERT_EQ(history.size(), 20'000U);
  for (std::size_t i = 0; i < history.size(); i += 999) {
    EXPECT_EQ(history[i]["_step"], std::to_string(i + 1));
    EXPECT_EQ(history[i]["train/loss"], std::to_string(i + 1));
    EXPECT_EQ(history[i]["rank1/train/loss"], std::to_string(i + 1));
  }
}

TEST(WandbProject, IsANameThatWandbTakes) {
  EXPECT_EQ(wandb_project("my suite"), "my suite");
  EXPECT_EQ(wandb_project("a/b\\c#d?e%f:g\nh"), "a_b_c_d_e_f_g_h");
  EXPECT_EQ(wandb_project("套件"), "套件");
  EXPECT_EQ(wandb_project(""), "assay");
  EXPECT_LE(wandb_project(std::string(1000, 'x')).size(), 130U);
}

}  // namespace
}  // namespace assay::exports
