#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;

// A rank whose steps take these times, one after the other, from TRAIN_START at 1 s.
RankEvidence rank_with_steps(int rank, const std::vector<double>& durations, int stride = 1) {
  RankEvidence out = constant_rank(rank, {.train_start = 1, .steps = 0});
  StepTrack track;
  double t = 1;
  int number = 0;
  for (const double d : durations) {
    t += d;
    number += stride;
    Step step;
    step.at = stamp(t);
    step.number = number;
    step.samples = 1;
    track.steps.push_back(step);
    out.log.samples.add(1);
  }
  track.first_number = stride;
  track.last_number = number;
  track.stride = stride;
  track.logged = durations.size();
  out.log.tracks = {track};
  out.log.last_event = out.log.train_end = stamp(t);
  out.log.events = durations.size() + 2;
  out.end = moment(t + 1);
  return out;
}

TEST(StepTime, PercentilesAreThoseOfTheIntervalsOfAllRanks) {
  const std::vector<double> a{9, 0.1, 0.2, 0.3, 0.4};
  const std::vector<double> b{9, 0.5, 0.6, 0.7, 0.8};
  const RoundResult round =
      judge_round(case_plan(1, 2), round_of({rank_with_steps(0, a), rank_with_steps(1, b)}));
  // The first step has no STEP_END before it and does not count.
  EXPECT_NEAR(*metric(round, "step_time_mean"), 0.45, 1e-9);
  EXPECT_NEAR(*metric(round, "step_time_p50"), 0.45, 1e-9);
  EXPECT_NEAR(*metric(round, "step_time_min"), 0.1, 1e-9);
  EXPECT_NEAR(*metric(round, "step_time_max"), 0.8, 1e-9);
  EXPECT_NEAR(*metric(round, "step_time_p90"), 0.7 + 0.3 * 0.1, 1e-9);
  EXPECT_NEAR(*metric(round, "step_time_p99"), 0.7 + 0.93 * 0.1, 1e-9);
}

TEST(StepTime, ThatIsMostlyCheckpointsIsCounted) {
  RankEvidence rank = rank_with_steps(0, std::vector<double>(21, 0.1));
  for (int i = 1; i <= 21; ++i)
    rank.log.phases.push_back({TimePart::checkpoint, stamp(1 + 0.1 * i), 0.098});
  const auto swallowed = [](const RankEvidence& evidence) {
    Facts facts;
    (void)judge_round(case_plan(), round_of({evidence}), &facts);
    return facts.at("steps_in_pauses").value;
  };
  EXPECT_EQ(swallowed(rank), 1);
  for (LoggedPhase& phase : rank.log.phases) phase.seconds = 0.04;
  EXPECT_EQ(swallowed(rank), 0) << "more than half is left for the steps";
  rank.log.phases.clear();
  EXPECT_EQ(swallowed(rank), 0);
}

TEST(StepTime, IsDividedByTheStepsBetweenLogLines) {
  const RoundResult round =
      judge_round(case_plan(), round_of({rank_with_steps(0, {50, 50, 50}, 500)}));
  EXPECT_NEAR(*metric(round, "step_time_mean"), 0.1, 1e-9);
  EXPECT_EQ(*metric(round, "steps"), 1500);
}

TEST(StepTime, LeavesOutWarmUp) {
  auto plan = case_plan();
  plan.warmup_steps = 3;
  const RoundResult round =
      judge_round(plan, round_of({rank_with_steps(0, {5, 4, 3, 0.1, 0.1, 0.1})}));
  EXPECT_NEAR(*metric(round, "step_time_max"), 0.1, 1e-9);
  EXPECT_EQ(*metric(round, "steps"), 6);
}

TEST(StepTime, DoesNotHoldTheTimeOfEvaluations) {
  RankEvidence rank = rank_with_steps(0, {0.5, 0.5, 2.5, 0.5});
  rank.log.evaluations = {{stamp(4.2), 2.0, {}}};
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_NEAR(*metric(round, "step_time_max"), 0.5, 1e-6);
}

TEST(StepTime, OfRanksThatWaitForTheEvaluatingRankLeavesItOutToo) {
  RankEvidence evaluating = rank_with_steps(0, {0.5, 0.5, 2.5, 0.5});
  evaluating.log.evaluations = {{stamp(4.2), 2.0, {}}};
  const RankEvidence waiting = rank_with_steps(1, {0.5, 0.5, 2.5, 0.5});
  const RoundResult round = judge_round(case_plan(1, 2), round_of({evaluating, waiting}));
  EXPECT_NEAR(*metric(round, "step_time_max"), 0.5, 1e-6);
}

TEST(StepTime, SkipsTheBreakOfARestart) {
  RankEvidence rank = rank_with_steps(0, {0.1, 0.1, 60, 0.1});
  rank.log.tracks[0].steps[2].after_break = true;
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_NEAR(*metric(round, "step_time_max"), 0.1, 1e-9);
}

TEST(StepTime, OfOneStepIsAbsent) {
  const RoundResult round = judge_round(case_plan(), round_of({rank_with_steps(0, {1})}));
  EXPECT_FALSE(metric(round, "step_time_mean"));
  EXPECT_EQ(*metric(round, "steps"), 1);
}

TEST(Steps, AreCountedFromTheirNumbers) {
  RankEvidence rank = constant_rank(0);
  StepTrack& track = rank.log.tracks[0];
  track.first_number = 0;
  track.last_number = 99;
  EXPECT_EQ(*metric(judge_round(case_plan(), round_of({rank})), "steps"), 100);
  track.first_number = 5001;  // went on from a checkpoint
  track.last_number = 5100;
  EXPECT_EQ(*metric(judge_round(case_plan(), round_of({rank})), "steps"), 100);
  track.first_number = track.last_number = kNoTime;  // not numbered
  EXPECT_EQ(*metric(judge_round(case_plan(), round_of({rank})), "steps"), 100);
}

// Every hundredth step is logged: the others are what the log says.
TEST(Steps, ThatNobodySawAreReportedAndDoNotCountAsSeen) {
  RankEvidence rank = constant_rank(0, {.steps = 12});
  StepTrack& track = rank.log.tracks[0];
  for (Step& step : track.steps) step.number *= 100;
  track.first_number = track.stride = 100;
  track.last_number = 1200;
  Facts facts;
  const RoundResult sparse = judge_round(case_plan(), round_of({rank}), &facts);
  EXPECT_EQ(*metric(sparse, "steps"), 1200);
  EXPECT_EQ(origin(sparse, "steps"), "reported");
  EXPECT_EQ(origin(sparse, "step_time_mean"), "reported");
  EXPECT_EQ(origin(sparse, "steady_step_time"), "reported");
  EXPECT_EQ(origin(sparse, "p_whole"), "measured") << "samples are summed, not multiplied";
  EXPECT_EQ(facts.at("steps_seen").value, 12);
  EXPECT_EQ(facts.at("steps_seen").detail, "of 1200 by their numbers");

  rank.dropped_bytes = 1;  // the middle of the log was not kept, but its agent saw it
  rank.seen_steps = 1200;
  const RoundResult cut = judge_round(case_plan(), round_of({rank}), &facts);
  EXPECT_EQ(origin(cut, "steps"), "measured");
  EXPECT_EQ(facts.at("steps_seen").value, 1200);
}

TEST(Stragglers, AreMeasuredAgainstTheMedianRank) {
  const RoundResult round =
      judge_round(case_plan(1, 3),
                  round_of({constant_rank(0, {.step_s = 0.1}), constant_rank(1, {.step_s = 0.1}),
                            constant_rank(2, {.step_s = 0.15})}));
  EXPECT_NEAR(*metric(round, "straggler_ratio"), 1.5, 1e-6);
  EXPECT_NEAR(*round.ranks[0].relative_speed, 1, 1e-6);
  EXPECT_NEAR(*round.ranks[2].relative_speed, 1 / 1.5, 1e-6);
}

TEST(Stragglers, WaitForNobodyWhereAllWaitForThem) {
  // All take 0.1 s a step; rank 2 waits least, so it is the one that the others wait for.
  std::vector<RankEvidence> ranks{constant_rank(0), constant_rank(1), constant_rank(2)};
  const double waits[] = {0.05, 0.05, 0.02};
  for (std::size_t i = 0; i < ranks.size(); ++i)
    ranks[i].log.comm_s = {true, waits[i] * static_cast<double>(ranks[i].log.tracks[0].logged), 0};
  const RoundResult round = judge_round(case_plan(1, 3), round_of(std::move(ranks)));
  EXPECT_NEAR(*metric(round, "straggler_ratio"), 0.08 / 0.05, 1e-6);
  EXPECT_NEAR(*round.ranks[2].mean_own_s, 0.08, 1e-6);
  EXPECT_NEAR(*round.ranks[2].relative_speed, 0.05 / 0.08, 1e-6);
}

TEST(NodeImbalance, IsTheSlowestNodeAgainstTheMedianNode) {
  std::vector<RankEvidence> ranks;
  for (int rank = 0; rank < 6; ++rank) {
    ranks.push_back(constant_rank(rank, {.step_s = rank < 4 ? 0.1 : 0.13}));
    ranks.back().node = rank / 2;
    ranks.back().host = "n" + std::to_string(rank / 2);
  }
  const RoundResult round = judge_round(case_plan(3, 2), round_of(std::move(ranks)));
  EXPECT_NEAR(*metric(round, "node_imbalance"), 1.3, 1e-6);
}

TEST(NodeImbalance, NeedsTwoNodes) {
  EXPECT_FALSE(metric(judge_round(case_plan(1, 2), round_of({constant_rank(0), constant_rank(1)})),
                      "node_imbalance"));
}

TEST(Stragglers, NeedTwoRanks) {
  const RoundResult round = judge_round(case_plan(), round_of({constant_rank(0)}));
  EXPECT_FALSE(metric(round, "straggler_ratio"));
  EXPECT_FALSE(round.ranks[0].relative_speed);
}

TEST(ThroughputSeries, OfAConstantRateIsFlatAndHoldsEverySample) {
  const RoundResult round =
      judge_round(case_plan(1, 2), round_of({constant_rank(0), constant_rank(1)}));
  const auto series = std::ranges::find(round.series, "throughput", &Series::name);
  ASSERT_NE(series, round.series.end());
  double sum = 0;
  for (const Point& p : series->points) {
    EXPECT_NEAR(p.value, 640, 1e-6);
    sum += p.value * 10 / static_cast<double>(series->points.size());
  }
  EXPECT_NEAR(sum, 6400, 1e-6);
}

// 100 steps of 0.1 s from 2 s on; the one after an evaluation of 3 s ends 3 s later.
RankEvidence evaluating_rank(std::optional<double> says) {
  RankEvidence rank = constant_rank(0);
  for (std::size_t i = 50; i < 100; ++i)
    rank.log.tracks[0].steps[i].at = stamp(2 + 3 + 0.1 * static_cast<double>(i + 1));
  rank.log.train_end = stamp(15);
  rank.log.last_event = stamp(15);
  rank.end = moment(16);
  rank.log.evaluations = {{stamp(10), says, {}}};
  return rank;
}

TEST(ThroughputSeries, IsBrokenWhereNothingWasTrained) {
  for (const std::optional<double> says : {std::optional(3.0), std::optional<double>()}) {
    const RoundResult round = judge_round(case_plan(), round_of({evaluating_rank(says)}));
    const auto series = std::ranges::find(round.series, "throughput", &Series::name);
    ASSERT_NE(series, round.series.end());
    int broken = 0;
    for (const Point& p : series->points) {
      if (std::isnan(p.value)) {
        ++broken;
        EXPECT_GT(p.t_s, 6.9);
        EXPECT_LT(p.t_s, 10.1);
      } else {
        EXPECT_NEAR(p.value, 320, 1) << "at " << p.t_s;
      }
    }
    EXPECT_NEAR(broken, 23, 2) << "of 100 stretches of 0.13 s";
  }
}

TEST(LossSeries, IsBoundedAndComesFromOneRank) {
  const RoundResult round =
      judge_round(case_plan(1, 2), round_of({constant_rank(0, {.steps = 5000, .step_s = 0.01}),
                                             constant_rank(1, {.steps = 5000, .step_s = 0.01})}));
  EXPECT_EQ(std::ranges::count(round.series, "loss", &Series::name), 1);
  const auto series = std::ranges::find(round.series, "loss", &Series::name);
  EXPECT_LE(series->points.size(), 600U);
}

TEST(Phases, AreInitTrainAndEvaluate) {
  RankEvidence rank = constant_rank(0);
  rank.log.evaluations = {{stamp(5), 1.5, {}}};
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  ASSERT_EQ(round.phases.size(), 3U);
  EXPECT_EQ(round.phases[0].name, "init");
  EXPECT_NEAR(round.phases[0].end_s, 2, 1e-9);
  EXPECT_EQ(round.phases[1].name, "train");
  EXPECT_EQ(round.phases[2].name, "evaluate");
  EXPECT_NEAR(round.phases[2].start_s, 3.5, 1e-9);
}

}  // namespace
}  // namespace assay::judge
