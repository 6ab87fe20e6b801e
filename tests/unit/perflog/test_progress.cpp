#include <random>
#include <type_traits>

#include <gtest/gtest.h>

#include "collect_events.h"
#include "perflog/parser.h"
#include "perflog/progress.h"

namespace assay::perflog {
namespace {

ProgressScanner follow(std::string_view text, std::size_t piece = std::string_view::npos) {
  ProgressScanner scanner;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view part = text.substr(at, piece);
    const std::vector<char> copy(part.begin(), part.end());
    scanner.feed({copy.data(), copy.size()});
    at += part.size();
  }
  return scanner;
}

TEST(Progress, CountsLinesAndStepsAndRemembersTheNewest) {
  const ProgressScanner got = follow(
      "starting\n"
      "0: [PerfLog] {\"event\": \"STEP_END\", \"value\": {\"loss\": 2.5}, \"step\": 11, "
      "\"metadata\": {\"file\": \"a\\\"b\", \"step\": 99, \"loss\": 9}}\n"
      "[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"loss\": 2.25e0, \"global_steps\": 12}}\n"
      "[PerfLog] {\"event\": \"EVALUATE\", \"value\": {\"loss\": 7, \"global_steps\": 70}}\n"
      "done");
  EXPECT_EQ(got.lines(), 4U);
  EXPECT_EQ(got.steps(), 2U);
  EXPECT_EQ(got.events(), 3U);
  EXPECT_EQ(got.last_step(), 12);
  EXPECT_EQ(got.last_loss(), 2.25);
}

// Both readers share one table of keys.
TEST(Progress, TakesTheStepThatTheParserTakes) {
  for (const auto& [fields, step] : std::vector<std::pair<std::string, std::int64_t>>{
           {R"("value": {"global_step": 4})", 4},
           {R"("value": {"global_step": 4, "global_steps": 3})", 3},
           {R"("value": {"step": 2, "global_steps": 3})", 2},
           {R"("step": 1, "value": {"step": 2})", 1},
           {R"("global_step": 7)", 7}}) {
    const std::string line = R"([PerfLog] {"event": "STEP_END", )" + fields + "}\n";
    EXPECT_EQ(follow(line).last_step(), step) << line;
    std::int64_t parsed = 0;
    Parser parser([&](const Event& event) { parsed = event.step; });
    parser.feed(line);
    parser.finish();
    EXPECT_EQ(parsed, step) << line;
  }
}

TEST(Progress, KnowsNothingBeforeTheFirstStep) {
  const ProgressScanner got = follow("hello\n[PerfLog] {\"event\": \"TRAIN_START\"}\n");
  EXPECT_EQ(got.steps(), 0U);
  EXPECT_FALSE(got.last_step());
  EXPECT_FALSE(got.last_loss());
}

TEST(Progress, TakesTheStepFromStepBeginWhereStepEndHasNone) {
  const ProgressScanner got = follow(
      "[PerfLog] {\"event\": \"STEP_BEGIN\", \"step\": 500}\n"
      "[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"loss\": 1}}\n");
  EXPECT_EQ(got.steps(), 1U);
  EXPECT_EQ(got.last_step(), 500);
}

TEST(Progress, AddsUpSamplesAndCountsEpochsAndTrials) {
  const ProgressScanner got = follow(
      "[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"samples\": 32}, \"trial\": 4}\n"
      "[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"global_samples\": 64, \"samples\": 8}, "
      "\"trial\": 4}\n"
      "[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"global_samples\": 100}, \"trial\": 9}\n"
      "[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"samples\": -5}, \"samples\": 7}\n"
      "[PerfLog] {\"event\": \"EVALUATE\", \"value\": {\"samples\": 1000}}\n"
      "[PerfLog] {\"event\": \"EPOCH_END\", \"epoch\": 1, \"trial\": 77}\n");
  EXPECT_EQ(got.samples(), 140);
  EXPECT_EQ(got.epochs(), 1U);
  EXPECT_EQ(got.trials(), 2U);
  EXPECT_FALSE(follow("[PerfLog] {\"event\": \"STEP_END\"}\n").samples());
}

TEST(Progress, RemembersTheNewestAndTheBestAccuracy) {
  const std::string log =
      "[PerfLog] {\"event\": \"EVALUATE\", \"value\": {\"eval_acc1\": 0.75, \"accuracy\": 9}}\n"
      "[PerfLog] {\"event\": \"EVALUATE\", \"value\": {\"loss\": 1, \"eval_acc1\": 0.5}}\n"
      "[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"acc\": 3}}\n"
      "[PerfLog] {\"event\": \"EVALUATE\", \"value\": {\"acc\": null}}\n";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, log.size()}) {
    const ProgressScanner got = follow(log, piece);
    EXPECT_EQ(got.last_accuracy(), 0.5);
    EXPECT_EQ(got.best_accuracy(), 0.75);
  }
}

TEST(Progress, SaysThatTheLossIsNotFinite) {
  for (const std::string loss : {"NaN", "nan", "null"}) {
    const ProgressScanner got =
        follow("[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"loss\": " + loss + "}}\n");
    ASSERT_TRUE(got.last_loss()) << loss;
    EXPECT_TRUE(std::isnan(*got.last_loss())) << loss;
  }
  EXPECT_TRUE(
      std::isinf(*follow("[PerfLog] {\"event\":\"STEP_END\",\"loss\":-Infinity}").last_loss()));
}

TEST(Progress, IgnoresTornAndOtherLines) {
  const ProgressScanner got = follow(
      "[PerfLog] {\"event\": \"STEP_END\", \"step\": 1\n"
      "[PerfLog] {\"event\": \"STEP_END\", \"step\": }\n"
      "[PerfLog] \"STEP_END\"\n"
      "STEP_END {\"event\": \"STEP_END\", \"step\": 2}\n"
      "[PerfLog] {\"a\": [\"event\": \"STEP_END\"]}\n"
      "[PerfLog] {\"event\": \"STEP_END\", \"step\": 3}\n");
  EXPECT_EQ(got.steps(), 1U);
  EXPECT_EQ(got.last_step(), 3);
  EXPECT_EQ(got.lines(), 6U);
}

TEST(Progress, GivesTheSameHoweverTheInputIsCut) {
  std::string text;
  for (int i = 1; i <= 40; ++i)
    text +=
        "x [Perf [PerfLo\n[[PerfLog] {\"event\": \"STEP_END\", \"value\": {\"loss\": 2." +
        std::to_string(i) +
        ", \"list\": [1, {\"loss\": 3}], \"t\": \"\\\\\\\"}\"}, \"step\": " + std::to_string(i) +
        "}\r\n";
  for (std::size_t piece = 1; piece < 200; ++piece) {
    const ProgressScanner got = follow(text, piece);
    ASSERT_EQ(got.lines(), 80U) << piece;
    ASSERT_EQ(got.steps(), 40U) << piece;
    ASSERT_EQ(got.last_step(), 40) << piece;
    ASSERT_EQ(got.last_loss(), 2.40) << piece;
  }
}

TEST(Progress, AgreesWithTheParserOnGeneratedLogs) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 20; ++i) {
      std::string line =
          "[PerfLog] {\"event\": \"" + std::string(random() % 3 == 0 ? "EVALUATE" : "STEP_END") +
          "\", \"value\": {\"loss\": " + std::to_string(random() % 1000) +
          ", \"m\": {\"a\": [1, 2, []]}}, \"step\": " + std::to_string(random() % 99) + "}";
      if (random() % 4 == 0) line.resize(random() % line.size());  // torn
      text += line + "\n";
    }
    std::uint64_t steps = 0;
    std::int64_t step = -1;
    double loss = -1;
    Parser parser([&](const Event& event) {
      if (event.kind != EventKind::step_end) return;
      ++steps;
      step = event.step;
      loss = event.find("loss")->number;
    });
    parser.feed(text);
    const ProgressScanner got = follow(text, 1 + random() % 300);
    ASSERT_EQ(got.steps(), steps) << text;
    ASSERT_EQ(got.events(), parser.stats().events) << text;
    ASSERT_EQ(got.lines(), parser.stats().lines);
    ASSERT_EQ(got.last_step().value_or(-1), step);
    ASSERT_EQ(got.last_loss().value_or(-1), loss);
  }
}

TEST(Progress, IsSmallAndPlain) {
  EXPECT_LE(sizeof(ProgressScanner), 256U);
  EXPECT_TRUE(std::is_trivially_copyable_v<ProgressScanner>);
}

TEST(Progress, DeepNestingDoesNotHurt) {
  const ProgressScanner got = follow("[PerfLog] {\"a\": " + std::string(100000, '[') + "\n" +
                                     "[PerfLog] {\"event\": \"STEP_END\", \"step\": 1}\n");
  EXPECT_EQ(got.steps(), 1U);
}

}  // namespace
}  // namespace assay::perflog
