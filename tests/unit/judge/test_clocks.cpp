#include <gtest/gtest.h>

#include "judge/clock_alignment.h"
#include "judge/round_journal.h"
#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;

// Moves a node's wall clock by `by` seconds from `from` on, as if it had been set.
void step_wall_clock(RoundEvidence& round, double from, double by) {
  const std::int64_t limit = moment(from).mono_ns;
  for (telemetry::Row& row : round.nodes[0].telemetry.rows)
    if (row.mono_ns >= limit) row.wall_ns += static_cast<std::int64_t>(by * 1e9);
  for (RankEvidence& rank : round.ranks) {
    if (rank.end->mono_ns >= limit) rank.end->wall_ns += static_cast<std::int64_t>(by * 1e9);
    const auto shift = [&](Stamp& s) {
      const std::int64_t true_ms = s.wall_ms;
      if (s.wall_ms != kNoTime && true_ms >= moment(from).wall_ns / 1'000'000)
        s.wall_ms += static_cast<std::int64_t>(by * 1e3);
    };
    shift(rank.log.train_start);
    shift(rank.log.train_end);
    shift(rank.log.last_event);
    for (Step& step : rank.log.tracks[0].steps) shift(step.at);
  }
}

RoundEvidence with_telemetry(bool monotonic) {
  RoundEvidence round = round_of({constant_rank(0, {.monotonic = monotonic})});
  for (int t = 0; t <= 13; ++t)
    add_row(round.nodes[0], t, "node", {{telemetry::Column::util, 0.5}});
  return round;
}

TEST(Clocks, ThatAgreeShowNoJump) {
  Facts facts;
  (void)judge_round(case_plan(), with_telemetry(true), &facts);
  EXPECT_EQ(facts.at("clock_jump_max_s").value, 0);
}

TEST(Clocks, SteppingBackChangesNothingWhereMonotonicTimeIsLogged) {
  RoundEvidence round = with_telemetry(true);
  step_wall_clock(round, 6, -3600);
  Facts facts;
  const RoundResult result = judge_round(case_plan(), round, &facts);
  EXPECT_NEAR(*metric(result, "train_time"), 10, 1e-9);
  EXPECT_NEAR(*metric(result, "e2e_time"), 13, 1e-9);
  EXPECT_NEAR(*metric(result, "step_time_max"), 0.1, 1e-6);
  EXPECT_NEAR(facts.at("clock_jump_max_s").value, 3600, 0.01);
  EXPECT_FALSE(facts.contains("clock_jump_in_times_s"));
}

TEST(Clocks, SteppingBackIsAFactAboutTheTimesOfLogsWithoutMonotonicTime) {
  RoundEvidence round = with_telemetry(false);
  step_wall_clock(round, 6, -30);
  Facts facts;
  const RoundResult result = judge_round(case_plan(), round, &facts);
  EXPECT_NEAR(facts.at("clock_jump_in_times_s").value, 30, 0.01);
  EXPECT_NEAR(*metric(result, "e2e_time"), 13, 1e-9);  // the agent's stamps are monotonic
  EXPECT_FALSE(metric(result, "train_time"));          // it would be negative
}

TEST(Clocks, SlewedByNtpDoNotCountAsAJump) {
  RoundEvidence round = with_telemetry(true);
  for (telemetry::Row& row : round.nodes[0].telemetry.rows)
    row.wall_ns += (row.mono_ns - kMono0_ns) / 2500;  // 400 ppm
  round.ranks[0].end->wall_ns += (round.ranks[0].end->mono_ns - kMono0_ns) / 2500;
  Facts facts;
  (void)judge_round(case_plan(), round, &facts);
  EXPECT_EQ(facts.at("clock_jump_max_s").value, 0);
}

TEST(Clocks, OfSeveralNodesAreLinedUpByWallTime) {
  // The second node booted at another time; its training lies half a second later.
  RankEvidence first = constant_rank(0);
  RankEvidence second = constant_rank(1, {.train_start = 2.5});
  second.node = 1;
  second.host = "node1";
  const std::int64_t other_boot_ns = 777'000'000'000'000;
  second.start->mono_ns += other_boot_ns;
  second.end->mono_ns += other_boot_ns;
  for (Stamp* s : {&second.log.train_start, &second.log.train_end, &second.log.first_event,
                   &second.log.last_event})
    s->mono_us += other_boot_ns / 1000;
  for (Step& step : second.log.tracks[0].steps) step.at.mono_us += other_boot_ns / 1000;
  RoundEvidence round = round_of({first, second});
  round.nodes.push_back({1, "node1", {}, std::nullopt, 0});
  const RoundResult result = judge_round(case_plan(2, 1), round);
  EXPECT_NEAR(*metric(result, "train_time"), 10.5, 1e-6);
  EXPECT_NEAR(*metric(result, "e2e_time"), 13.5, 1e-6);
}

TEST(Clocks, OfAnotherMachineInALogAreNotMistakenForTheNodes) {
  RankEvidence rank = constant_rank(0);
  for (Stamp* s :
       {&rank.log.train_start, &rank.log.train_end, &rank.log.first_event, &rank.log.last_event})
    s->mono_us = s->mono_us / 1000;
  const RoundResult result = judge_round(case_plan(), round_of({rank}));
  EXPECT_NEAR(*metric(result, "train_time"), 10, 2e-3);  // by time_ms
}

TEST(LaunchTime, IsAbsentRatherThanNegative) {
  RoundEvidence round = round_of({constant_rank(0)});
  round.start = moment(5);
  EXPECT_FALSE(metric(judge_round(case_plan(), round), "launch_time"));
}

// Two nodes, the second of which has a wall clock that is an hour behind.
RoundEvidence two_nodes(bool monotonic) {
  RoundEvidence round = round_of(
      {constant_rank(0, {.monotonic = monotonic}), constant_rank(1, {.monotonic = monotonic})});
  round.one_clock = false;
  round.ranks[0].host = "n1";
  round.ranks[1].host = "n2";
  round.ranks[1].node = 1;
  NodeEvidence second;
  second.node = 1;
  second.host = "n2";
  round.nodes.push_back(second);
  round.nodes[0].clock_behind_s = 0.002;
  round.nodes[1].clock_behind_s = 3600.002;
  constexpr std::int64_t kHour_ms = 3'600'000;
  RankEvidence& rank = round.ranks[1];
  rank.start->wall_ns -= kHour_ms * 1'000'000;
  rank.end->wall_ns -= kHour_ms * 1'000'000;
  for (Stamp* stamp :
       {&rank.log.train_start, &rank.log.train_end, &rank.log.first_event, &rank.log.last_event})
    if (stamp->wall_ms != kNoTime) stamp->wall_ms -= kHour_ms;
  for (Step& step : rank.log.tracks[0].steps) step.at.wall_ms -= kHour_ms;
  return round;
}

class ClocksThatDiffer : public ::testing::TestWithParam<bool> {};

TEST_P(ClocksThatDiffer, ByAnHourChangeNoTimeAndAreSaid) {
  RoundEvidence round = two_nodes(GetParam());
  align_clocks(round);
  Facts facts;
  const RoundResult result = judge_round(case_plan(2, 1), round, &facts);
  EXPECT_NEAR(*metric(result, "e2e_time"), 13, 0.01);
  EXPECT_NEAR(*metric(result, "train_time"), 10, 0.01);
  EXPECT_NEAR(facts.at("clock_skew_max_s").value, 3600, 0.01);
  EXPECT_EQ(facts.at("clock_skew_max_s").detail, "n2: 3600.0 s behind, by when its messages came");
}

INSTANTIATE_TEST_SUITE_P(Logs, ClocksThatDiffer, ::testing::Values(true, false),
                         [](const auto& with) { return with.param ? "Monotonic" : "WallOnly"; });

// What the journal has: the node's stamps, and when the controller saw them. The quickest message
// tells best.
TEST(Clocks, AreComparedByTheQuickestMessage) {
  const auto event = [](const char* name, double node_s, double seen_s) {
    return Json{{"event", name},
                {"case", "c"},
                {"round", 1},
                {"node", 1},
                {"host", "n2"},
                {"rank", 1},
                {"mono_ns", 1},
                {"wall_ns", static_cast<std::int64_t>(node_s * 1e9)},
                {"seen_wall_ns", static_cast<std::int64_t>(seen_s * 1e9)}};
  };
  const RoundJournal journal({Json{{"event", "round_start"}, {"case", "c"}, {"round", 1}},
                              event("rank_start", 1000, 4600.5), event("rank_exit", 1010, 4610.25),
                              event("node_end", 1011, 4611.75)});
  const RoundEvidence round = journal.round("c", 1);
  ASSERT_EQ(round.nodes.size(), 1u);
  EXPECT_NEAR(round.nodes[0].clock_behind_s.value_or(0), 3600.25, 1e-6);
}

// The second node's clock is `behind_s` behind, as its messages show; measured at the run's start.
RoundEvidence measured_round(double behind_s, double measured_s, double uncertainty_s) {
  RoundEvidence round = two_nodes(true);
  NodeEvidence& node = round.nodes[1];
  node.clock_behind_s = behind_s;
  node.clock_measured_s = measured_s;
  node.clock_uncertainty_s = uncertainty_s;
  return round;
}

TEST(Clocks, AMeasuredOffsetIsTakenRatherThanTheTimeThatMessagesTook) {
  RoundEvidence round = measured_round(3600.3, 3600.0, 0.0004);  // its messages took 0.3 s
  align_clocks(round);
  Facts facts;
  const RoundResult result = judge_round(case_plan(2, 1), round, &facts);
  EXPECT_NEAR(*metric(result, "e2e_time"), 13, 1e-3);
  EXPECT_EQ(facts.at("clock_skew_max_s").detail, "n2: 3600.0 s behind, measured within 0.4 ms");
}

TEST(Clocks, AMeasuredOffsetBelowASecondIsLinedUpTooBeyondItsUncertainty) {
  for (const auto& [uncertainty, moved] : {std::pair(0.002, 0.25), std::pair(0.3, 0.0)}) {
    RoundEvidence round = measured_round(0.26, 0.25, uncertainty);
    const std::int64_t before = round.ranks[1].start->wall_ns;
    align_clocks(round);
    EXPECT_NEAR(static_cast<double>(round.ranks[1].start->wall_ns - before) * 1e-9, moved, 1e-6);
  }
}

// A message cannot come before it was sent, and an hour is no time for one to travel.
TEST(Clocks, AClockThatWasSetAfterTheMeasurementIsJudgedByTheRoundsMessages) {
  for (const double measured : {3605.0, 0.0}) {
    RoundEvidence round = measured_round(3600.002, measured, 0.0004);
    align_clocks(round);
    EXPECT_NEAR(*metric(judge_round(case_plan(2, 1), round), "e2e_time"), 13, 0.01) << measured;
  }
}

TEST(Clocks, TheNewestMeasurementBeforeTheRoundCounts) {
  const auto offset = [](double ahead_s) {
    return Json{{"event", "clock_offset"}, {"node", 1},     {"host", "n2"}, {"offset_s", ahead_s},
                {"uncertainty_s", 0.001},  {"exchanges", 5}};
  };
  const auto start = [](int round) {
    return Json{{"event", "round_start"}, {"case", "c"}, {"round", round}};
  };
  const auto rank = [](int round) {
    return Json{{"event", "rank_start"}, {"case", "c"}, {"round", round}, {"rank", 1}, {"node", 1},
                {"host", "n2"}};
  };
  const RoundJournal journal({offset(5), start(1), rank(1), offset(-7), start(2), rank(2)});
  EXPECT_EQ(journal.round("c", 1).nodes.at(0).clock_measured_s, -5);
  EXPECT_EQ(journal.round("c", 2).nodes.at(0).clock_measured_s, 7);
  EXPECT_EQ(journal.round("c", 2).nodes.at(0).clock_uncertainty_s, 0.001);
}

TEST(Clocks, ThatDifferByLessThanAMessageMayTakeAreLeftAlone) {
  RoundEvidence round = round_of({constant_rank(0)});
  round.nodes[0].clock_behind_s = 0.9;
  const std::int64_t before = round.ranks[0].start->wall_ns;
  align_clocks(round);
  EXPECT_EQ(round.ranks[0].start->wall_ns, before);
}

}  // namespace
}  // namespace assay::judge
