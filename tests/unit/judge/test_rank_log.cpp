#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "judge/rank_log.h"
#include "perflog/parser.h"
#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using ::testing::ElementsAre;

RankLog read(const std::string& text, const plan::CasePlan& plan = case_plan(),
             std::size_t limit = 1 << 20) {
  RankLog log;
  RankLogReader reader(plan, log, limit);
  perflog::Parser parser([&](const perflog::Event& event) { reader.on_event(event); },
                         [&](std::string_view piece, std::uint64_t number, bool ends) {
                           reader.on_text(piece, number, ends);
                         });
  parser.feed(text);
  parser.finish();
  return log;
}

std::string line(const std::string& event, const std::string& body, std::int64_t time_ms) {
  return "[PerfLog] {\"event\": \"" + event + "\"" + (body.empty() ? "" : ", " + body) +
         ", \"metadata\": {\"time_ms\": " + std::to_string(time_ms) + ", \"rank\": -1}}\n";
}

TEST(RankLogReader, AddsUpStepsOfAForeignLog) {
  std::string text = line("TRAIN_START", "", 1000);
  text += line("STEP_END", R"("value": {"loss": 2.5, "samples": 8, "tokens": 100, "data_s": 0.5})",
               2000);
  text += line("STEP_END", R"("value": {"loss": 1.5, "samples": 8, "flops": 1e9})", 3000);
  text += line("TRAIN_END", "", 3100);
  const RankLog log = read(text);
  EXPECT_EQ(log.events, 4U);
  EXPECT_EQ(log.samples.sum, 16);
  EXPECT_EQ(log.tokens.sum, 100);
  EXPECT_EQ(log.data_s.sum, 0.5);
  EXPECT_EQ(log.flops.sum, 1e9);
  EXPECT_FALSE(log.has_mono);
  EXPECT_EQ(log.train_start.wall_ms, 1000);
  EXPECT_EQ(log.train_end.wall_ms, 3100);
  ASSERT_EQ(log.tracks.size(), 1U);
  EXPECT_EQ(log.tracks[0].steps.size(), 2U);
}

TEST(RankLogReader, KnowsWhatEveryStepDid) {
  std::string text = line("TRAIN_START", "", 1000);
  for (int i = 1; i <= 40; ++i)
    text += line(
        "STEP_END",
        "\"step\": " + std::to_string(i) +
            R"(, "value": {"samples": 8, "tokens": 100, "flops": 1e9, "comm_s": 0.25, "bubble_s": 0.125, "compute_s": )" +
            (i == 7 ? "0.25}" : "0.5}"),
        1000 + 500 * i);
  for (const std::size_t limit : {std::size_t{1} << 20, std::size_t{16}}) {
    const RankLog log = read(text, case_plan(), limit);
    EXPECT_EQ(log.best_flops, 4e9);
    const StepTrack& track = log.tracks.at(0);
    const Step& step = track.steps.at(3);
    EXPECT_EQ(step.count, track.merged);
    EXPECT_EQ(step.samples, 8 * track.merged);
    EXPECT_EQ(step.tokens, 100.0F * static_cast<float>(track.merged));
    EXPECT_EQ(step.flops, 1e9F * static_cast<float>(track.merged));
    EXPECT_EQ(step.comm_s, 0.25F * static_cast<float>(track.merged));
    EXPECT_EQ(step.bubble_s, 0.125F * static_cast<float>(track.merged));
    EXPECT_EQ(log.bubble_s.sum, 5);
  }
}

TEST(RankLogReader, CountsLossesThatAreNoNumbersInEverySpelling) {
  std::string text;
  for (const char* loss : {"NaN", "null", "Infinity", "\"nan\"", "-Infinity", "1.0"})
    text += line("STEP_END", std::string("\"step\": 7, \"value\": {\"loss\": ") + loss + "}", 1);
  const RankLog log = read(text);
  EXPECT_EQ(log.nonfinite_losses, 5U);
  EXPECT_EQ(log.first_nonfinite_step, 7);
}

TEST(RankLogReader, CountsLossesAtTheEndThatAreNoNumbers) {
  const RankLog log = read(line(
      "FINISHED", R"("value": {"final_loss": NaN, "final_eval_loss": Infinity, "loss": 1.0})", 1));
  EXPECT_EQ(log.nonfinite_losses, 2U);
}

TEST(RankLogReader, ForgetsStepsBeforeTrainingAndIgnoresThoseAfterIt) {
  std::string text = line("STEP_END", R"("value": {"samples": 100})", 1);
  text += line("TRAIN_START", "", 2);
  text += line("STEP_END", R"("value": {"samples": 1})", 3);
  text += line("TRAIN_END", "", 4);
  text += line("STEP_END", R"("value": {"samples": 100})", 5);
  const RankLog log = read(text);
  EXPECT_EQ(log.samples.sum, 1);
  EXPECT_EQ(log.tracks[0].logged, 1U);
}

TEST(RankLogReader, NoticesARestart) {
  std::string text = line("TRAIN_START", "", 1);
  text += line("STEP_END", R"("step": 1, "value": {"samples": 1})", 2);
  text += line("STEP_END", R"("step": 2, "value": {"samples": 1})", 3);
  text += line("TRAIN_START", "", 50);
  text += line("STEP_END", R"("step": 1, "value": {"samples": 1})", 51);
  text += line("TRAIN_END", "", 52);
  const RankLog log = read(text);
  EXPECT_EQ(log.restarts, 1);
  EXPECT_EQ(log.train_start.wall_ms, 1);
  EXPECT_EQ(log.train_end.wall_ms, 52);
  EXPECT_TRUE(log.tracks[0].steps[2].after_break);
}

TEST(RankLogReader, KeepsApartTheRanksOfAPerNodeCommand) {
  auto plan = case_plan(1, 2);
  plan.launch = plan::LaunchMode::per_node;
  std::string text = line("TRAIN_START", "", 1) + line("TRAIN_START", "", 1);
  for (int step = 1; step <= 3; ++step)
    for (int rank = 0; rank < 2; ++rank)
      text += line(
          "STEP_END",
          "\"step\": " + std::to_string(step) + R"(, "value": {"samples": 4, "global_samples": 8})",
          100 * step + rank);
  text += line("TRAIN_END", "", 400) + line("TRAIN_END", "", 401);
  const RankLog log = read(text, plan);
  ASSERT_EQ(log.tracks.size(), 2U);
  EXPECT_EQ(log.tracks[0].steps.size(), 3U);
  EXPECT_EQ(log.tracks[1].steps.size(), 3U);
  EXPECT_EQ(log.samples.sum, 24);
  EXPECT_EQ(log.global_samples.sum, 24);
  EXPECT_EQ(log.restarts, 0);
}

TEST(RankLogReader, FollowsTheCumulativeSampleCount) {
  std::string text;
  for (int i = 1; i <= 4; ++i)
    text += line("STEP_END",
                 "\"value\": {\"num_trained_samples\": " + std::to_string(i * 256) + "}", i * 1000);
  const RankLog log = read(text);
  EXPECT_EQ(log.trained_first, 256);
  EXPECT_EQ(log.trained_last, 1024);
  EXPECT_EQ(log.trained_stride, 256);
}

TEST(RankLogReader, ReadsEvaluationsAndFinished) {
  std::string text =
      line("EVALUATE",
           R"("value": {"global_steps": 10, "eval_loss": 2.0, "eval_acc": 0.7, "time": 3.0})", 9);
  text += line("EVALUATE", "", 10);
  text += line("FINISHED", R"("value": {"e2e_time": 100.0, "converged": true, "final_acc1": 0.75})",
               11);
  const RankLog log = read(text);
  ASSERT_EQ(log.evaluations.size(), 2U);
  EXPECT_EQ(log.evaluations[0].seconds, 3.0);
  EXPECT_THAT(log.evaluations[0].values,
              ElementsAre(std::pair("eval_loss", 2.0), std::pair("eval_acc", 0.7)));
  EXPECT_FALSE(log.evaluations[1].seconds);
  ASSERT_TRUE(log.finished);
  EXPECT_EQ(log.finished->converged, true);
}

TEST(RankLogReader, SeesAClockThatStepsBack) {
  EXPECT_NEAR(read(line("INIT_START", "", 10'000) + line("INIT_END", "", 7'000)).clock_jump_s, 3,
              1e-9);
  EXPECT_EQ(read(line("INIT_START", "", 10'000) + line("INIT_END", "", 90'000)).clock_jump_s, 0);
}

std::string both_clocks(std::int64_t time_ms, std::int64_t mono_us) {
  return "[PerfLog] {\"event\": \"EPOCH_END\", \"metadata\": {\"time_ms\": " +
         std::to_string(time_ms) + ", \"mono_us\": " + std::to_string(mono_us) + "}}\n";
}

TEST(RankLogReader, SeesAClockThatStepsForwardWhereBothClocksAreLogged) {
  const RankLog log = read(both_clocks(1000, 5'000'000) + both_clocks(64'000, 8'000'000) +
                           both_clocks(65'000, 9'000'000));
  EXPECT_TRUE(log.has_mono);
  EXPECT_NEAR(log.clock_jump_s, 60, 0.01);
}

TEST(RankLogReader, DoesNotTakeAPauseBetweenTwoClockReadingsForAStep) {
  const RankLog log = read(both_clocks(1000, 5'000'000) + both_clocks(2900, 6'000'000) +
                           both_clocks(3000, 7'000'000));
  EXPECT_EQ(log.clock_jump_s, 0);
}

TEST(RankLogReader, TakesNoNonsenseForATime) {
  const RankLog log = read(line("TRAIN_START", "", INT64_MAX - 5) + line("TRAIN_END", "", -7));
  EXPECT_FALSE(log.train_start.known());
  EXPECT_FALSE(log.train_end.known());
}

TEST(RankLogReader, MergesStepsOfAVeryLongLogWithoutLosingSamplesOrTime) {
  std::string text = line("TRAIN_START", "", 0);
  const int steps = 1000;
  for (int i = 1; i <= steps; ++i) text += line("STEP_END", R"("value": {"samples": 2})", i * 10);
  const RankLog log = read(text, case_plan(), 64);
  const StepTrack& track = log.tracks[0];
  EXPECT_LE(track.steps.size(), 64U);
  EXPECT_EQ(log.samples.sum, 2 * steps);
  EXPECT_EQ(track.logged, static_cast<std::uint64_t>(steps));
  double count = track.steps[0].count;
  for (std::size_t i = 1; i < track.steps.size(); ++i) {
    const double ms =
        static_cast<double>(track.steps[i].at.wall_ms - track.steps[i - 1].at.wall_ms);
    EXPECT_EQ(ms / track.steps[i].count, 10);
    count += track.steps[i].count;
  }
  EXPECT_GT(count, steps - 2.0 * track.merged);
}

TEST(OutputPatterns, ThatAreNoRegularExpressionAreAnError) {
  auto plan = case_plan();
  for (const char* pattern : {"([0-9", R"(([0-9]+) \1)", "([0-9]+)(?=%)"}) {
    plan.metrics = {{"x", pattern, "1", Better::higher, "last", "mean"}};
    EXPECT_THROW(read("", plan), Error) << pattern;
  }
}

TEST(RankList, GroupsRuns) {
  EXPECT_EQ(rank_list({3}), "rank 3");
  EXPECT_EQ(rank_list({12, 7, 8, 9, 3, 10, 11}), "ranks 3, 7–12");
  EXPECT_EQ(rank_list({1, 2, 2}), "ranks 1, 2");
}

}  // namespace
}  // namespace assay::judge
