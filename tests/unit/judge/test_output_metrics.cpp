#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using ::testing::HasSubstr;

std::string printed_note(const RoundResult& round, const std::string& name) {
  const auto at =
      std::ranges::find(round.metrics, name, [](const Metric& m) { return m.info.name; });
  return at == round.metrics.end() ? "" : at->note;
}

TEST(OutputMetrics, AreReducedPerRankAndThenAcrossRanks) {
  auto plan = case_plan(1, 2);
  plan.metrics = {{"tput", "x", "tokens/s", Better::higher, "mean", "sum"},
                  {"top", "x", "1", Better::higher, "max", "min"},
                  {"end", "x", "1", Better::higher, "last", "mean"},
                  {"mid", "x", "1", Better::higher, "median", "max"},
                  {"begin", "x", "1", Better::higher, "first", "max"},
                  {"total", "x", "1", Better::higher, "sum", "sum"},
                  {"head", "x", "1", Better::higher, "last", "rank0"}};
  std::vector<RankEvidence> ranks{constant_rank(0), constant_rank(1)};
  ranks[0].log.outputs = std::vector<OutputValues>(7, OutputValues{1, 2, 6});
  ranks[1].log.outputs = std::vector<OutputValues>(7, OutputValues{10, 20});
  const RoundResult round = judge_round(plan, round_of(ranks));
  EXPECT_DOUBLE_EQ(*metric(round, "tput"), 3 + 15);
  EXPECT_DOUBLE_EQ(*metric(round, "top"), 6);
  EXPECT_DOUBLE_EQ(*metric(round, "end"), (6 + 20) / 2.0);
  EXPECT_DOUBLE_EQ(*metric(round, "mid"), 15);
  EXPECT_DOUBLE_EQ(*metric(round, "begin"), 10);
  EXPECT_DOUBLE_EQ(*metric(round, "total"), 39);
  EXPECT_DOUBLE_EQ(*metric(round, "head"), 6);
  EXPECT_EQ(origin(round, "tput"), "reported");
  EXPECT_EQ(printed_note(round, "tput"), "mean of each rank's matches, sum over 2 ranks");
  EXPECT_EQ(printed_note(round, "head"), "last of 3 matches");
}

TEST(OutputMetrics, SayHowManyRanksPrinted) {
  auto plan = case_plan(1, 3);
  plan.metrics = {{"tput", "x", "tokens/s", Better::higher, "last", "sum"}};
  std::vector<RankEvidence> ranks{constant_rank(0), constant_rank(1), constant_rank(2)};
  ranks[0].log.outputs = {{1}};
  ranks[1].log.outputs = {{2}};
  EXPECT_THAT(printed_note(judge_round(plan, round_of(ranks)), "tput"),
              HasSubstr("over 2 of 3 ranks"));
}

TEST(OutputMetrics, AreOfRankZeroOrMissing) {
  auto plan = case_plan(1, 2);
  plan.metrics = {{"tput", "x", "tokens/s", Better::higher, "last", "rank0"}};
  std::vector<RankEvidence> ranks{constant_rank(0), constant_rank(1)};
  ranks[1].log.outputs = {{2}};
  Facts facts;
  EXPECT_FALSE(metric(judge_round(plan, round_of(ranks), &facts), "tput"));
  EXPECT_EQ(facts.at("output_metrics_missing").value, 1);
}

TEST(OutputMetrics, HaveACurveWhereTheLogHasTimes) {
  auto plan = case_plan();
  plan.metrics = {{"tput", "x", "tokens/s", Better::higher, "last", "mean"}};
  RankEvidence rank = constant_rank(0);
  OutputValues values;
  for (int i = 0; i < 5; ++i) values.add({100.0 + i, stamp(3 + i), 10 * i});
  rank.log.outputs = {values};
  RoundResult round = judge_round(plan, round_of({rank}));
  const auto series = std::ranges::find(round.series, "tput", &Series::name);
  ASSERT_NE(series, round.series.end());
  ASSERT_EQ(series->points.size(), 5U);
  EXPECT_NEAR(series->points[2].t_s, 5, 1e-6);
  EXPECT_EQ(series->points[2].value, 102);
  EXPECT_EQ(printed_note(round, "tput"), "last of 5 matches, at step 40");

  rank.log.outputs = {{1, 2, 3}};
  round = judge_round(plan, round_of({rank}));
  EXPECT_EQ(std::ranges::find(round.series, "tput", &Series::name), round.series.end());
}

TEST(OutputMetrics, ThatCannotBeReadAreAFact) {
  auto plan = case_plan();
  plan.metrics = {{"tput", "x", "tokens/s", Better::higher, "last", "mean"}};
  RankEvidence rank = constant_rank(0);
  rank.log_path = "case/round1/node0/rank0.out.log";
  rank.log.outputs = {{5}};
  rank.log.outputs[0].add_unreadable(17, "1,5");
  rank.log.outputs[0].add_unreadable(18, "1,6");
  Facts facts;
  EXPECT_EQ(metric(judge_round(plan, round_of({rank}), &facts), "tput"), 5);
  EXPECT_EQ(facts.at("output_unreadable").value, 2);
  EXPECT_EQ(facts.at("output_unreadable").detail,
            "tput: '1,5' at case/round1/node0/rank0.out.log:17");
}

TEST(OutputMetrics, ThatAreNoNumberAreNotMissingToo) {
  auto plan = case_plan();
  plan.metrics = {{"tput", "x", "tokens/s", Better::higher, "last", "mean"}};
  RankEvidence rank = constant_rank(0);
  rank.log.outputs = {{}};
  rank.log.outputs[0].add_unreadable(17, "1,5");
  Facts facts;
  EXPECT_FALSE(metric(judge_round(plan, round_of({rank}), &facts), "tput"));
  EXPECT_EQ(facts.at("output_unreadable").value, 1);
  EXPECT_EQ(facts.at("output_metrics_missing").value, 0);
}

TEST(OutputMetrics, AreCutWhereOutputOfTheirRanksWasDropped) {
  auto plan = case_plan(1, 2);
  plan.metrics = {{"top", "x", "1", Better::higher, "max", "max"},
                  {"head", "x", "1", Better::higher, "max", "rank0"}};
  std::vector<RankEvidence> ranks{constant_rank(0), constant_rank(1)};
  for (RankEvidence& rank : ranks) rank.log.outputs = {{1}, {1}};
  Facts facts;
  (void)judge_round(plan, round_of(ranks), &facts);
  EXPECT_EQ(facts.at("output_metrics_cut").value, 0);
  ranks[1].dropped_bytes = 4096;
  (void)judge_round(plan, round_of(ranks), &facts);
  EXPECT_EQ(facts.at("output_metrics_cut").value, 1);
  EXPECT_EQ(facts.at("output_metrics_cut").detail, "top");
}

TEST(OutputMetrics, AreCutWhereOthersHeldTheOutputThatWereEnded) {
  auto plan = case_plan(1, 2);
  plan.metrics = {{"top", "x", "1", Better::higher, "max", "max"},
                  {"head", "x", "1", Better::higher, "max", "rank0"}};
  std::vector<RankEvidence> ranks{constant_rank(0), constant_rank(1)};
  for (RankEvidence& rank : ranks) rank.log.outputs = {{1}, {1}};
  Facts facts;
  (void)judge_round(plan, round_of(ranks), &facts);
  EXPECT_EQ(facts.at("output_metrics_held").value, 0);
  ranks[1].output_held = true;
  (void)judge_round(plan, round_of(ranks), &facts);
  EXPECT_EQ(facts.at("output_metrics_held").value, 1);
  EXPECT_EQ(facts.at("output_metrics_held").detail, "top, of rank 1");
}

TEST(OutputMetrics, OfACommandWithoutPerfLogComeWithTheTimeThatItTook) {
  auto plan = case_plan();
  plan.metrics = {{"speed", "x", "1", Better::higher, "last", "mean"}};
  RankEvidence rank = constant_rank(0);
  rank.log.outputs = {{5}};
  Facts facts;
  (void)judge_round(plan, round_of({rank}), &facts);
  EXPECT_FALSE(facts.contains("command_time")) << "its training time is known";
  rank.log = {};
  rank.log.found = true;
  rank.log.outputs = {{5}};
  rank.start = moment(10);
  rank.end = moment(10.25);
  (void)judge_round(plan, round_of({rank}), &facts);
  EXPECT_NEAR(facts.at("command_time").value, 0.25, 1e-9);
}

TEST(OutputMetrics, DoNotHideWhatWasMeasured) {
  auto plan = case_plan();
  plan.metrics = {{"p_whole", "x", "samples/s", Better::higher, "last", "mean"},
                  {"step_time_mean", "x", "s", Better::lower, "last", "mean"}};
  RankEvidence rank = constant_rank(0);
  rank.log.outputs = {{5}, {6}};
  Facts facts;
  const RoundResult round = judge_round(plan, round_of({rank}), &facts);
  EXPECT_NEAR(*metric(round, "p_whole"), 320, 1);
  EXPECT_NEAR(*metric(round, "step_time_mean"), 0.1, 1e-6);
  EXPECT_EQ(facts.at("output_metrics_hidden").value, 2);
  EXPECT_EQ(facts.at("output_metrics_hidden").detail, "p_whole, step_time_mean");
}

}  // namespace
}  // namespace assay::judge
