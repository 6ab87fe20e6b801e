#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/rank_log.h"
#include "perflog/parser.h"
#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace judge::testing;
using ::testing::IsEmpty;

// constant_rank(): exec at 0, TRAIN_START at 2, 100 steps of 0.1 s, TRAIN_END at 12, exit at 13;
// round_of() begins 0.25 s before and ends at 100.
constexpr double kWall = 100.25;
constexpr double kNear = 1e-5;  // logs have microseconds

double part(const RoundResult& round, TimePart wanted) {
  for (const TimeShare& share : round.time_shares)
    if (share.part == wanted) return share.seconds;
  return 0;
}

double sum_of(const RoundResult& round) {
  return std::accumulate(round.time_shares.begin(), round.time_shares.end(), 0.0,
                         [](double sum, const TimeShare& share) { return sum + share.seconds; });
}

RoundResult judged_round(std::vector<RankEvidence> ranks) {
  return judge_round(case_plan(), round_of(std::move(ranks)));
}

LoggedPhase phase(TimePart what, double from, double to) {
  return {what, stamp(to), to - from};
}

Evaluation evaluation(double from, double to) {
  Evaluation out;
  out.at = stamp(to);
  out.seconds = to - from;
  return out;
}

void set_sum(Total& total, double first, double rest) {
  total.add(first);
  total.add(rest);
}

TEST(TimeShares, AddUpToTheWallClock) {
  const RoundResult round = judged_round({constant_rank(0)});
  EXPECT_NEAR(round.wall_s.value(), kWall, 1e-9);
  EXPECT_NEAR(sum_of(round), kWall, 1e-9);
  EXPECT_NEAR(part(round, TimePart::launch), 0.25, kNear);
  EXPECT_NEAR(part(round, TimePart::start), 2, kNear);
  EXPECT_NEAR(part(round, TimePart::first_step), 0.1, kNear);
  EXPECT_NEAR(part(round, TimePart::steps), 9.9, kNear);
  EXPECT_NEAR(part(round, TimePart::end), 1, kNear);
  EXPECT_NEAR(part(round, TimePart::collection), 87, kNear);
  EXPECT_EQ(round.time_shares.size(), 6U);
}

TEST(TimeShares, TellPreparationByThePhasesThatTheProgramLogs) {
  RankEvidence rank = constant_rank(0);
  rank.log.init_start = stamp(0.5);
  rank.log.phases = {phase(TimePart::device, 0.2, 0.4), phase(TimePart::data, 0.5, 1.0),
                     phase(TimePart::model, 1.0, 1.7), phase(TimePart::data, 1.8, 1.9)};
  const RoundResult round = judged_round({rank});
  EXPECT_NEAR(part(round, TimePart::start), 0.3, kNear);
  EXPECT_NEAR(part(round, TimePart::device), 0.2, kNear);
  EXPECT_NEAR(part(round, TimePart::data), 0.6, kNear);
  EXPECT_NEAR(part(round, TimePart::model), 0.7, kNear);
  EXPECT_NEAR(part(round, TimePart::preparation), 0.2, kNear);
  EXPECT_NEAR(sum_of(round), kWall, 1e-9);
}

TEST(TimeShares, EvaluationsAndCheckpointsAreNotSteps) {
  RankEvidence rank = constant_rank(0);
  rank.log.evaluations = {evaluation(4, 5), evaluation(10, 11.5)};
  rank.log.phases = {phase(TimePart::checkpoint, 5, 5.5), phase(TimePart::checkpoint, 11.5, 12)};
  const RoundResult round = judged_round({rank});
  EXPECT_NEAR(part(round, TimePart::evaluation), 2.5, kNear);
  EXPECT_NEAR(part(round, TimePart::checkpoint), 1, kNear);
  EXPECT_NEAR(part(round, TimePart::steps), 9.9 - 3.5, kNear);
  EXPECT_NEAR(sum_of(round), kWall, 1e-9);
}

TEST(TimeShares, DivideTheStepsAfterTheFirst) {
  RankEvidence rank = constant_rank(0);
  set_sum(rank.log.data_s, 5, 1);  // the first step's is not theirs
  set_sum(rank.log.compute_s, 1, 6);
  set_sum(rank.log.comm_s, 1, 1.5);
  set_sum(rank.log.optimizer_s, 0, 0.5);
  const RoundResult round = judged_round({rank});
  EXPECT_NEAR(part(round, TimePart::data_wait), 1, kNear);
  EXPECT_NEAR(part(round, TimePart::compute), 6, kNear);
  EXPECT_NEAR(part(round, TimePart::communication), 1.5, kNear);
  EXPECT_NEAR(part(round, TimePart::optimizer), 0.5, kNear);
  EXPECT_NEAR(part(round, TimePart::step_rest), 0.9, kNear);
  EXPECT_EQ(part(round, TimePart::steps), 0);
  EXPECT_NEAR(sum_of(round), kWall, 1e-9);
}

TEST(TimeShares, StepsBeforeTheSteadyOnesAreAPartOfTheirOwn) {
  RankEvidence rank = constant_rank(0, {.steps = 200});
  // The first twenty took half a second each.
  const auto slower = [](int steps) { return 0.4 * std::min(steps, 20); };
  std::vector<Step>& steps = rank.log.tracks[0].steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const int done = static_cast<int>(i) + 1;
    steps[i].at = stamp(2 + 0.1 * done + slower(done));
  }
  rank.log.train_end = rank.log.last_event = steps.back().at;
  rank.end = moment(31);
  audit(rank.log);
  const RoundResult round = judged_round({rank});
  EXPECT_NEAR(part(round, TimePart::first_step), 0.5, kNear);
  EXPECT_NEAR(part(round, TimePart::settling), 9.5, 1);
  EXPECT_NEAR(part(round, TimePart::settling) + part(round, TimePart::steps), 27.5, kNear);
  EXPECT_NEAR(sum_of(round), kWall, 1e-9);
}

TEST(TimeShares, StepsThatClaimMoreThanThereWasAreScaled) {
  RankEvidence rank = constant_rank(0);
  set_sum(rank.log.data_s, 0, 20);
  set_sum(rank.log.compute_s, 0, 60);
  const RoundResult round = judged_round({rank});
  EXPECT_NEAR(part(round, TimePart::data_wait), 9.9 / 4, kNear);
  EXPECT_NEAR(part(round, TimePart::compute), 9.9 * 3 / 4, kNear);
  EXPECT_NEAR(sum_of(round), kWall, 1e-9);
}

TEST(TimeShares, TheRankThatTheOthersWaitForTellsItsSteps) {
  RankEvidence quick = constant_rank(0);
  set_sum(quick.log.compute_s, 0, 3);
  set_sum(quick.log.comm_s, 0, 6.9);
  RankEvidence slow = constant_rank(1);
  set_sum(slow.log.compute_s, 0, 9);
  set_sum(slow.log.comm_s, 0, 0.9);
  const RoundResult round = judged_round({quick, slow});
  EXPECT_NEAR(part(round, TimePart::compute), 9, kNear);
  EXPECT_NEAR(part(round, TimePart::communication), 0.9, kNear);
}

TEST(TimeShares, EveryPartEndsWithTheSlowestRank) {
  RankEvidence late = constant_rank(1, {.train_start = 3, .steps = 90});
  late.start = moment(0.5);
  RankEvidence early = constant_rank(0);
  early.log.phases = {phase(TimePart::data, 0.6, 1)};
  late.log.phases = {phase(TimePart::data, 0.6, 2.5)};
  const RoundResult round = judged_round({early, late});
  EXPECT_NEAR(part(round, TimePart::launch), 0.75, kNear);
  EXPECT_NEAR(part(round, TimePart::data), 1.9, kNear);
  EXPECT_NEAR(part(round, TimePart::start), 3 - 0.5 - 1.9, kNear);
  EXPECT_NEAR(part(round, TimePart::first_step), 0.1, kNear);
  EXPECT_NEAR(sum_of(round), kWall, 1e-9);
}

TEST(TimeShares, AProgramThatLogsNothingIsOnePart) {
  RankEvidence rank = constant_rank(0);
  rank.log = {};
  const RoundResult round = judged_round({rank});
  EXPECT_NEAR(part(round, TimePart::launch), 0.25, kNear);
  EXPECT_NEAR(part(round, TimePart::program), 13, kNear);
  EXPECT_NEAR(part(round, TimePart::collection), 87, kNear);
  EXPECT_EQ(round.time_shares.size(), 3U);
}

TEST(TimeShares, ATrainingWithoutAnEndIsNotExplainedBeyondItsLastStep) {
  RankEvidence rank = constant_rank(0);
  rank.log.train_end = {};
  rank.end = moment(62);
  const RoundResult round = judged_round({rank});
  EXPECT_NEAR(part(round, TimePart::steps), 9.9, kNear);
  EXPECT_NEAR(part(round, TimePart::unexplained), 50, kNear);
  EXPECT_NEAR(sum_of(round), kWall, 1e-9);
}

TEST(TimeShares, ARankThatWasLostLeavesTheRestUnexplained) {
  RankEvidence lost = constant_rank(0);
  lost.ended_by = EndedBy::lost;
  const RoundResult round = judged_round({lost});
  EXPECT_NEAR(part(round, TimePart::unexplained), 88, kNear);
  EXPECT_EQ(part(round, TimePart::collection), 0);
}

TEST(TimeShares, ARoundWithoutRanksWasLaunching) {
  const RoundResult round = judged_round(std::vector<RankEvidence>{});
  EXPECT_EQ(round.time_shares.size(), 1U);
  EXPECT_NEAR(part(round, TimePart::launch), 100.25, kNear);
}

TEST(TimeShares, NeedTheRoundsEnd) {
  RoundEvidence evidence = round_of({constant_rank(0)});
  evidence.end.reset();
  const RoundResult round = judge_round(case_plan(), evidence);
  EXPECT_THAT(round.time_shares, IsEmpty());
  EXPECT_FALSE(round.wall_s);
}

TEST(TimeShares, OnSeveralMachinesTheWallClocksPlaceTheLaunch) {
  RoundEvidence evidence = round_of({constant_rank(0)});
  evidence.one_clock = false;
  // The controller is another machine: its monotonic clock has nothing to do with the node's.
  evidence.start->mono_ns += 1'000'000'000'000;
  evidence.end->mono_ns += 1'000'000'000'000;
  const RoundResult round = judge_round(case_plan(), evidence);
  EXPECT_NEAR(part(round, TimePart::launch), 0.25, kNear);
  EXPECT_NEAR(sum_of(round), kWall, 1e-9);
}

TEST(TimeShares, WhatCannotBeStillAddsUp) {
  RankEvidence rank = constant_rank(0);
  rank.log.phases = {{TimePart::model, stamp(1), 1e18},
                     {TimePart::data, stamp(500), 3},
                     {TimePart::checkpoint, stamp(11), 1e9}};
  rank.log.evaluations = {evaluation(1, 1e7)};
  RoundEvidence evidence = round_of({rank});
  evidence.end = moment(7);  // before the ranks had ended, by a clock that was set
  const RoundResult round = judge_round(case_plan(), evidence);
  EXPECT_NEAR(sum_of(round), 7.25, 1e-6);
  for (const TimeShare& share : round.time_shares) EXPECT_GT(share.seconds, 0);
}

RankLog read(const std::string& text) {
  const plan::CasePlan plan = case_plan();
  RankLog log;
  RankLogReader reader(plan, log);
  perflog::Parser parser([&](const perflog::Event& event) { reader.on_event(event); });
  parser.feed(text);
  parser.finish();
  reader.on_end();
  return log;
}

std::string phase_line(const std::string& value) {
  return "[PerfLog] {\"event\": \"PHASE\", \"value\": " + value +
         ", \"metadata\": {\"time_ms\": 1790000000000, \"mono_us\": 5000000000}}\n";
}

TEST(TimeShares, PhasesAreReadFromTheLog) {
  const RankLog log = read(phase_line(R"({"name": "data", "time": 1.5})") +
                           phase_line(R"({"name": "model", "time": 0})"));
  ASSERT_EQ(log.phases.size(), 2U);
  EXPECT_EQ(log.phases[0].part, TimePart::data);
  EXPECT_EQ(log.phases[0].seconds, 1.5);
  EXPECT_EQ(log.phases[0].at.mono_us, 5'000'000'000);
}

TEST(TimeShares, PhasesThatSayNothingArePassedOver) {
  for (const char* value :
       {R"({"name": "tea", "time": 1})", R"({"name": "compute", "time": 1})", R"({"name": "data"})",
        R"({"time": 1})", R"({"name": 3, "time": 1})", R"({"name": "data", "time": -1})",
        R"({"name": "data", "time": NaN})", R"({"name": "data", "time": "1"})", "7"})
    EXPECT_THAT(read(phase_line(value)).phases, IsEmpty()) << value;
}

}  // namespace
}  // namespace assay::judge
