#include <cmath>

#include <gtest/gtest.h>

#include "error_of.h"
#include "eventually.h"
#include "live/live_run.h"
#include "run_folder.h"

namespace assay::live {
namespace {

using testing::RunFolder;

constexpr double kStart = static_cast<double>(RunFolder::kStartMs) / 1e3;

const Json* find(const Json& metrics, const std::string& name, const std::string& scope,
                 const std::string& of = "") {
  for (const Json& series : metrics["series"])
    if (series["name"] == name && series["scope"] == scope && series["of"] == of) return &series;
  return nullptr;
}

std::string perf(const std::string& event, double seconds, const std::string& value = "{}") {
  return fmt::format(
      "[PerfLog] {{\"event\": \"{}\", \"value\": {}, \"metadata\": {{\"time_ms\": {}}}}}\n", event,
      value, RunFolder::kStartMs + static_cast<std::int64_t>(seconds * 1e3));
}

std::string row(double seconds, const std::string& source, const std::string& rest) {
  return fmt::format("{},{},{},{}\n", 1,
                     (RunFolder::kStartMs + static_cast<std::int64_t>(seconds * 1e3)) * 1'000'000,
                     source, rest);
}
constexpr const char* kHeader = "mono_ns,wall_ns,source,util,mem_used_bytes,power_w,temp_c\n";
const std::string kTelemetryFile = "c/round1/n0_noderank0/telemetry.csv";

TEST(LiveMetrics, ThroughputOfTheJobIsTheSumOfItsRanks) {
  RunFolder run;
  for (const int rank : {0, 1}) {
    std::string text = perf("TRAIN_START", 0);
    for (int i = 1; i <= 40; ++i) text += RunFolder::step(i, 1.0 / i, 32);
    run.append(RunFolder::log(rank), text);
  }
  LiveRun live(run.path());
  const Json metrics = live.metrics({});
  const Json* job = find(metrics, "throughput", "job");
  ASSERT_NE(job, nullptr);
  EXPECT_EQ((*job)["unit"], "samples/s");
  for (const Json& point : (*job)["points"]) EXPECT_NEAR(point[1].get<double>(), 64, 1e-3);
  EXPECT_NEAR((*find(metrics, "throughput", "rank", "1"))["points"][3][1].get<double>(), 32, 1e-3);
  EXPECT_NEAR((*find(metrics, "loss", "rank", "0"))["points"][0][1].get<double>(), 1, 1e-9);
  EXPECT_NEAR((*find(metrics, "step_time", "rank", "0"))["points"][0][1].get<double>(), 1, 1e-3);
}

// Different models' losses are no curve; a trial that another worker gets goes on.
TEST(LiveMetrics, EveryTrialOfAnExperimentIsACurve) {
  RunFolder run;
  run.append(RunFolder::log(0), perf("STEP_END", 1, R"({"loss": 2, "trial": 0})") +
                                    perf("STEP_END", 2, R"({"loss": 1, "trial": 0})") +
                                    perf("STEP_END", 3, R"({"loss": 3, "trial": 1})") +
                                    perf("EVALUATE", 3, R"({"eval_acc1": 0.5, "trial": 1})"));
  run.append(RunFolder::log(1), perf("STEP_END", 1.01, R"({"loss": 2.1, "trial": 0})") +
                                    perf("STEP_END", 9, R"({"loss": 2.5, "trial": 1})"));
  LiveRun live(run.path());
  const Json metrics = live.metrics({});
  EXPECT_EQ(find(metrics, "loss", "rank", "0"), nullptr);
  ASSERT_NE(find(metrics, "loss", "trial", "0"), nullptr);
  EXPECT_EQ((*find(metrics, "loss", "trial", "0"))["points"].size(), 2U) << "one of the group";
  EXPECT_EQ((*find(metrics, "loss", "trial", "1"))["points"].size(), 2U);
  EXPECT_EQ((*find(metrics, "accuracy", "trial", "1"))["points"][0][1], 0.5);
}

TEST(LiveMetrics, SamplesOfAllRanksAreCountedOnce) {
  RunFolder run;
  for (const int rank : {0, 1}) {
    std::string text = perf("TRAIN_START", 0);
    for (int i = 1; i <= 8; ++i) text += perf("STEP_END", i, R"({"global_samples": 64})");
    run.append(RunFolder::log(rank), text);
  }
  LiveRun live(run.path());
  const Json metrics = live.metrics({});
  EXPECT_NEAR((*find(metrics, "throughput", "job"))["points"][2][1].get<double>(), 64, 1e-3);
}

TEST(LiveMetrics, ALossThatIsNotANumberIsAGapAndNoError) {
  RunFolder run;
  run.append(RunFolder::log(0), perf("STEP_END", 1, R"({"loss": 2})") +
                                    perf("STEP_END", 2, R"({"loss": NaN})") +
                                    perf("STEP_END", 3, R"({"loss": 1e999})"));
  LiveRun live(run.path());
  const Json metrics = live.metrics({});
  const Json& points = (*find(metrics, "loss", "rank", "0"))["points"];
  ASSERT_EQ(points.size(), 3U);
  EXPECT_TRUE(points[1][1].is_null());
}

TEST(LiveMetrics, TelemetryIsByNodeAndDevice) {
  RunFolder run;
  run.append(kTelemetryFile, kHeader + row(0, "node", "0.5,1000,,") +
                                 row(0, "dev0", "0.9,5000,300,60") +
                                 row(0, "dev1", "0.8,5000,200,61") + row(0, "cpu0", "1,,,") +
                                 row(1, "node", "0.25,1000,,") + "garbage\n" + "1,2,node\n");
  LiveRun live(run.path());
  const Json metrics = live.metrics({});
  EXPECT_DOUBLE_EQ((*find(metrics, "util", "node", "node0"))["points"][1][1], 25);
  EXPECT_EQ((*find(metrics, "util", "node", "node0"))["host"], "n0");
  EXPECT_DOUBLE_EQ((*find(metrics, "temperature", "device", "node0/dev1"))["points"][0][1], 61);
  // The node's power is that of its devices, where nothing measures the whole.
  EXPECT_DOUBLE_EQ((*find(metrics, "power", "node", "node0"))["points"][0][1], 500);
}

TEST(LiveMetrics, ThePowerOfTheWholeNodeStandsAlone) {
  RunFolder run;
  run.append(kTelemetryFile, kHeader + row(0, "ipmi", ",,900,") +
                                 row(0, "dev0", "0.9,5000,300,60") + row(1, "node", "0.5,1000,,"));
  LiveRun live(run.path());
  EXPECT_DOUBLE_EQ((*find(live.metrics({}), "power", "node", "node0"))["points"][0][1], 900);
}

TEST(LiveMetrics, AFollowerAsksForWhatIsNew) {
  RunFolder run;
  run.hold();
  run.append(kTelemetryFile, kHeader + row(0, "node", "0.5,1,,") + row(1, "node", "0.5,1,,"));
  RunWatch watch(run.path());
  Metrics metrics;
  ASSERT_TRUE(watch.look());
  metrics.look(watch, 1 << 20);
  const double newest = metrics.read({})["newest"];
  EXPECT_NEAR(newest, kStart + 1, 1e-3);
  run.append(kTelemetryFile, row(2, "node", "0.7,1,,") + row(3, "node", "0.8,1,,").substr(0, 10));
  ASSERT_TRUE(watch.look());
  metrics.look(watch, 1 << 20);
  const Json more = metrics.read({.span = {.from = newest}});
  const Json& points = (*find(more, "util", "node", "node0"))["points"];
  ASSERT_EQ(points.size(), 2U);  // the newest that was known, and what came
  EXPECT_DOUBLE_EQ(points[1][1], 70);
}

TEST(LiveMetrics, ClocksOfNodesAreBroughtToTheControllers) {
  RunFolder run;
  run.journal({{"event", "clock_offset"}, {"node", 0}, {"offset_s", 100.0}});
  run.append(kTelemetryFile, kHeader + row(100, "node", "0.5,1,,"));
  LiveRun live(run.path());
  EXPECT_NEAR((*find(live.metrics({}), "util", "node", "node0"))["points"][0][0].get<double>(),
              kStart, 1e-3);
}

TEST(LiveMetrics, PhasesRoundsAndFailuresAreMarks) {
  RunFolder run;
  run.append(RunFolder::log(0), perf("INIT_START", 0) + perf("INIT_END", 2) +
                                    perf("TRAIN_START", 2) +
                                    perf("EVALUATE", 9, R"({"eval_acc1": 0.75, "time": 1.5})") +
                                    perf("TRAIN_END", 10));
  run.journal({{"event", "rank_exit"}, {"rank", 1}, {"code", 3}}, 11);
  run.journal({{"event", "rank_exit"}, {"rank", 0}, {"code", 0}}, 11);
  run.journal({{"event", "round_end"},
               {"case", "c"},
               {"round", 1},
               {"status", "failed"},
               {"reason", "x\x1b[31m"}},
              12);
  LiveRun live(run.path());
  const Json metrics = live.metrics({});
  std::vector<std::string> texts;
  for (const Json& mark : metrics["marks"]) texts.push_back(mark["text"]);
  EXPECT_EQ(texts,
            (std::vector<std::string>{"run started", "c, round 1", "init", "train", "evaluate",
                                      "rank 1 ended with exit code 3", "c, round 1: failed – x"}));
  EXPECT_NEAR(metrics["marks"][4]["t"].get<double>(), kStart + 7.5, 1e-3);
  EXPECT_NEAR(metrics["marks"][4]["to"].get<double>(), kStart + 9, 1e-3);
  EXPECT_DOUBLE_EQ((*find(metrics, "accuracy", "job"))["points"][0][1], 0.75);
}

TEST(LiveMetrics, AnAnswerIsThinnedToThePointsAskedFor) {
  RunFolder run;
  std::string text;
  for (int i = 0; i < 5000; ++i) text += RunFolder::step(i, i == 2500 ? 99 : 1);
  run.append(RunFolder::log(0), text);
  LiveRun live(run.path());
  const Json metrics = live.metrics({.points = 100});
  const Json& points = (*find(metrics, "loss", "rank", "0"))["points"];
  EXPECT_LE(points.size(), 110U);
  EXPECT_TRUE(std::ranges::any_of(points, [](const Json& point) { return point[1] == 99; }));
}

TEST(LiveMetrics, MoreRanksThanCanBeShownCostNoMoreThanTheirThroughput) {
  RunFolder run;
  for (int rank = 0; rank < 40; ++rank)
    run.append(RunFolder::log(rank),
               perf("TRAIN_START", 0) + RunFolder::step(1, 0.5) + RunFolder::step(2, 0.5));
  LiveRun live(run.path());
  const Json metrics = live.metrics({});
  EXPECT_NE(find(metrics, "throughput", "rank", "39"), nullptr);
  EXPECT_NE(find(metrics, "loss", "rank", "15"), nullptr);
  EXPECT_EQ(find(metrics, "loss", "rank", "16"), nullptr);
}

TEST(LiveRun, SaysWhetherFilesAreHereWhileTheRunGoesOn) {
  RunFolder local;
  local.hold();
  LiveRun here(local.path());
  EXPECT_EQ(here.log({})["live"], true);
  EXPECT_EQ(here.log({})["ended"], false);
  RunFolder ssh(false);
  ssh.hold();
  LiveRun away(ssh.path());
  EXPECT_EQ(away.log({})["live"], false);
  EXPECT_NE(away.metrics({})["why"].get<std::string>().find("at the end of each round"),
            std::string::npos);
}

TEST(LiveRun, ShowsWhatAgentsSentUntilTheLogsThemselvesCome) {
  RunFolder run(false);
  run.hold();
  LiveRun live(run.path());
  run.append("live-logs/" + RunFolder::log(3, 1), "first\n");
  const Json sent = live.log({});
  EXPECT_EQ(sent["live"], true);
  ASSERT_EQ(sent["lines"].size(), 1U);
  EXPECT_EQ(sent["lines"][0]["text"], "first");
  EXPECT_EQ(sent["lines"][0]["rank"], 3);

  run.append(RunFolder::log(3, 1), "first\nsecond\n");
  std::filesystem::remove_all(run.file("live-logs"));
  run.journal({{"event", "round_end"}, {"case", "c"}, {"round", 1}, {"status", "completed"}});
  const auto came = [&] { return live.log({})["lines"].size() == 2; };
  EXPECT_TRUE(assay::testing::eventually(came, std::chrono::seconds(10)));
  EXPECT_NE(live.log({})["generation"], sent["generation"]) << "the lines are others";
}

TEST(LiveRun, AnOldRunIsReadToo) {
  LiveRun live(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/fixtures/run-0.1/run");
  const Json log = live.log({});
  EXPECT_GT(log["total"], 100);
  EXPECT_EQ(log["ended"], true);
  const Json metrics = live.metrics({});
  EXPECT_NE(find(metrics, "throughput", "job"), nullptr);
  EXPECT_NE(find(metrics, "util", "device", "node0/dev0"), nullptr);
}

TEST(LiveRun, ParametersThatAreNoneAreNamed) {
  EXPECT_EQ(console_query({{"rank", "3"}, {"from", "-5"}, {"show", "errors"}}).rank, 3);
  EXPECT_EQ(console_query({{"rank", "all"}}).rank, std::nullopt);
  EXPECT_NE(assay::testing::error_of([] {
              (void)console_query({{"from", "1x"}});
            }).find("'from' is not a number: '1x'"),
            std::string::npos);
  EXPECT_NE(assay::testing::error_of([] {
              (void)console_query({{"show", "some"}});
            }).find("'show'"),
            std::string::npos);
  EXPECT_NE(assay::testing::error_of([] {
              (void)metrics_query({{"points", ""}});
            }).find("'points'"),
            std::string::npos);
}

}  // namespace
}  // namespace assay::live
