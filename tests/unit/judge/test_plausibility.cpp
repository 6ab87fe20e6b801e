#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/rank_log.h"
#include "perflog/parser.h"
#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using ::testing::HasSubstr;

struct Judged {
  RoundResult result;
  Facts facts;
};

Judged judged(const RoundEvidence& round, const plan::CasePlan& plan = case_plan()) {
  Judged out;
  out.result = judge_round(plan, round, &out.facts);
  return out;
}

double outside(const RoundEvidence& round) {
  return judged(round).facts.at("times_outside_run_s").value;
}

TEST(Plausibility, TakesTimesWithinARanksLife) {
  const Judged j = judged(round_of({constant_rank(0)}));
  EXPECT_EQ(j.facts.at("times_outside_run_s").value, 0);
  EXPECT_EQ(j.facts.at("times_unchecked").value, 0);
  EXPECT_EQ(origin(j.result, "p_whole"), "measured");
  EXPECT_EQ(origin(j.result, "step_time_p50"), "measured");
}

TEST(Plausibility, NamesRankLineAndTimesOfAClockThatRunsTenTimesAsFast) {
  // 1.3 s of training in a run of 0.44 s.
  const Judged j = judged(round_of(
      {constant_rank(0, {.train_start = 0.1, .steps = 60, .step_s = 0.02, .exit_s = 0.44})}));
  EXPECT_NEAR(j.facts.at("times_outside_run_s").value, 0.86, 1e-6);
  EXPECT_EQ(j.facts.at("times_outside_run_s").detail,
            "rank 0 on node0: STEP_END in line 61 of case/round1/node0_noderank0/rank0.out.log "
            "says 1.300 s after the rank's start, but it ended 0.440 s after it");
  EXPECT_EQ(origin(j.result, "p_whole"), "claimed");
  EXPECT_EQ(origin(j.result, "train_time"), "claimed");
}

TEST(Plausibility, TakesPartsThatFillTheirSteps) {
  RankEvidence rank = constant_rank(0, {.train_start = 0.1, .steps = 60, .step_s = 0.02});
  for (int i = 0; i < 60; ++i) {
    rank.log.compute_s.add(0.02);
    rank.log.comm_s.add(0.005);
    rank.log.bubble_s.add(0.005);
  }
  EXPECT_EQ(outside(round_of({rank})), 0);
}

TEST(Plausibility, NamesThePartOfStepsThatIsLongerThanTheSteps) {
  RankEvidence rank = constant_rank(0, {.train_start = 0.1, .steps = 60, .step_s = 0.02});
  for (int i = 0; i < 60; ++i) rank.log.compute_s.add(0.1);
  const Judged j = judged(round_of({rank}));
  EXPECT_GT(j.facts.at("times_outside_run_s").value, 4);
  EXPECT_THAT(j.facts.at("times_outside_run_s").detail,
              HasSubstr("rank 0: compute_s adds up to 6.000 s in "));
}

TEST(Plausibility, ABubbleIsNotLongerThanTheCommunicationThatItIsAPartOf) {
  RankEvidence rank = constant_rank(0, {.train_start = 0.1, .steps = 60, .step_s = 0.02});
  for (int i = 0; i < 60; ++i) {
    rank.log.comm_s.add(0.001);
    rank.log.bubble_s.add(0.01);
  }
  EXPECT_NEAR(outside(round_of({rank})), 0.54, 1e-9);
}

TEST(Plausibility, RecognizesAReplayedLog) {
  RankEvidence rank = constant_rank(0, {.exit_s = 4});
  move_times(rank.log, 0, -509);
  const Judged j = judged(round_of({rank}));
  EXPECT_NEAR(j.facts.at("times_outside_run_s").value, 507, 0.01);
  EXPECT_THAT(j.facts.at("times_outside_run_s").detail,
              HasSubstr("line 1 of case/round1/node0_noderank0/rank0.out.log says 507.000 s before "
                        "the rank's start"));
}

TEST(Plausibility, RecognizesAReplayedLogWithoutMonotonicTime) {
  RankEvidence rank = constant_rank(0, {.monotonic = false});
  move_times(rank.log, 0, -509);
  EXPECT_NEAR(outside(round_of({rank})), 507, 0.01);
}

TEST(Plausibility, RecognizesAClockThatIsOneHourAheadInTheMiddle) {
  RankEvidence rank = constant_rank(0);
  Stamp& middle = rank.log.tracks[0].steps[50].at;
  middle.mono_us += 3'600'000'000;
  middle.wall_ms += 3'600'000;
  audit(rank.log);
  const Judged j = judged(round_of({rank}));
  EXPECT_GT(j.facts.at("times_outside_run_s").value, 3590);
  EXPECT_THAT(j.facts.at("times_outside_run_s").detail, HasSubstr("line 52"));
}

TEST(Plausibility, CountsTheOtherRanksThatDoTheSame) {
  std::vector<RankEvidence> ranks{constant_rank(0), constant_rank(1), constant_rank(2)};
  for (int r = 1; r <= 2; ++r) move_times(ranks[static_cast<std::size_t>(r)].log, 5, 100);
  const Judged j = judged(round_of(ranks), case_plan(1, 3));
  EXPECT_THAT(j.facts.at("times_outside_run_s").detail, HasSubstr("; 1 more rank does the same"));
}

TEST(Plausibility, TakesTheMonotonicClockOfANamespaceWhenTheWallClockFits) {
  RankEvidence rank = constant_rank(0);
  for (Stamp* at :
       {&rank.log.train_start, &rank.log.train_end, &rank.log.first_event, &rank.log.last_event})
    at->mono_us -= 4'000'000'000'000'000 / 1'000;
  for (Step& step : rank.log.tracks[0].steps) step.at.mono_us -= 4'000'000'000'000'000 / 1'000;
  audit(rank.log);
  EXPECT_EQ(outside(round_of({rank})), 0);
}

TEST(Plausibility, HoldsAForeignClockToTheTimeThatTheRankLived) {
  RankEvidence rank = constant_rank(0, {.exit_s = 12.5});
  rank.log.audit.mono_first.at.mono_us = 0;
  rank.log.audit.mono_last.at.mono_us = 130'000'000;
  EXPECT_NEAR(outside(round_of({rank})), 117.5, 1e-6);
}

TEST(Plausibility, LetsWallClocksBeSlightlyOff) {
  RankEvidence rank = constant_rank(0, {.exit_s = 12, .monotonic = false});
  move_times(rank.log, 0, 0.9);  // a container on another host, behind a local client
  EXPECT_EQ(outside(round_of({rank})), 0);
}

TEST(Plausibility, LetsAWallClockBeSetWhenTheNodeSawIt) {
  RankEvidence rank = constant_rank(0, {.monotonic = false});
  move_times(rank.log, 7, -3600);
  rank.end->wall_ns -= 3'600'000'000'000;
  RoundEvidence round = round_of({rank});
  EXPECT_EQ(outside(round), 0);  // another rule is about clocks that were set
  round.ranks[0].end->wall_ns += 3'600'000'000'000;
  EXPECT_GT(outside(round), 3590);
}

TEST(Plausibility, ComparesLinesWithWhenTheAgentHadThem) {
  RankEvidence rank = constant_rank(0);
  rank.log.audit.mono_ahead_s = 0.2;  // the sizes were read while the line came
  EXPECT_EQ(outside(round_of({rank})), 0);
  rank.log.audit.mono_ahead_s = 2.7;
  rank.log.audit.mono_ahead = {stamp(5), 33, "STEP_END"};
  const Judged j = judged(round_of({rank}));
  EXPECT_NEAR(j.facts.at("times_outside_run_s").value, 2.7, 1e-9);
  EXPECT_THAT(j.facts.at("times_outside_run_s").detail,
              HasSubstr("line 33 of case/round1/node0_noderank0/rank0.out.log has a time 2.700 s "
                        "later than when the agent had it"));
}

TEST(Plausibility, CallsNumbersClaimedWhereNoAgentSawTheRank) {
  RoundEvidence round = round_of({constant_rank(0)});
  round.supervised = false;
  const Judged job = judged(round);
  EXPECT_EQ(job.facts.at("times_unchecked").value, 1);
  EXPECT_FALSE(job.facts.contains("times_outside_run_s"));
  for (const char* name : {"train_time", "p_whole", "step_time_mean"})
    EXPECT_EQ(origin(job.result, name), "claimed") << name;
  EXPECT_EQ(origin(job.result, "samples"), "measured");

  round = round_of({constant_rank(0), constant_rank(1)});
  round.ranks[1].ended_by = EndedBy::lost;
  EXPECT_EQ(judged(round).facts.at("times_unchecked").detail, "rank 1");
}

TEST(Plausibility, LetsTwoClocksGoApartOnlyAsFarAsTheNodesDid) {
  RankEvidence rank = constant_rank(0);
  rank.log.audit.clocks_apart_s = 30;
  rank.log.audit.clocks_allowed_s = 0.5;
  EXPECT_EQ(judged(round_of({rank})).facts.at("rank_clocks_apart_s").value, 30);
  rank.end->wall_ns += 30'000'000'000;  // the clock was set
  EXPECT_EQ(judged(round_of({rank})).facts.at("rank_clocks_apart_s").value, 0);
}

TEST(Plausibility, KnowsTheRangeOfAccuracies) {
  const auto wrong = [](const std::string& key, double value, double target) {
    RankEvidence rank = constant_rank(0);
    rank.log.evaluations = {{stamp(11), 0.1, {{key, value}}}};
    plan::CasePlan plan = case_plan();
    if (target > 0) plan.target = plan::Target{"acc1", target, Better::higher};
    const Judged j = judged(round_of({rank}), plan);
    const auto fact = j.facts.find("accuracy_out_of_range");
    return fact == j.facts.end() ? -1.0 : fact->second.value;
  };
  EXPECT_EQ(wrong("eval_acc1", 0.76, 0.75), 0);
  EXPECT_EQ(wrong("eval_acc1", 76, 75), 0);
  EXPECT_EQ(wrong("eval_acc1", 76, 0.75), 1);
  EXPECT_EQ(wrong("eval_acc1", 76, 0), 0);
  EXPECT_EQ(wrong("eval_acc1", 101, 0), 1);
  EXPECT_EQ(wrong("eval_acc1", -0.1, 0), 1);
  EXPECT_EQ(wrong("eval_loss", 101, 0), -1);
  EXPECT_EQ(wrong("acc_samples", 5000, 0), -1);
}

// What the reader of logs notes.
class Audit : public ::testing::Test {
 protected:
  void event(const std::string& name, double mono_s, double wall_s, const std::string& body = "") {
    text_ += "[PerfLog] {\"event\": \"" + name + "\"" + body +
             ", \"metadata\": {\"time_ms\": " + std::to_string(std::llround(wall_s * 1e3)) +
             ", \"mono_us\": " + std::to_string(std::llround(mono_s * 1e6)) + "}}\n";
  }
  void step(int number, double mono_s, double wall_s) {
    event("STEP_END", mono_s, wall_s,
          ", \"step\": " + std::to_string(number) + ", \"value\": {\"samples\": 8}");
  }
  [[nodiscard]] LogAudit read(const Arrivals* arrivals = nullptr) const {
    RankLog log;
    RankLogReader reader(plan_, log);
    reader.use(arrivals);
    perflog::Parser parser([&](const perflog::Event& e) { reader.on_event(e); });
    parser.feed(text_);
    parser.finish();
    reader.on_end();
    return log.audit;
  }
  plan::CasePlan plan_ = case_plan();
  std::string text_;
};

TEST_F(Audit, CountsStartsEndsAndSteps) {
  step(1, 9, 109);
  event("TRAIN_START", 10, 110);
  step(1, 11, 111);
  const LogAudit open = read();
  EXPECT_TRUE(open.training_open);
  EXPECT_EQ(open.step_ends, 2U);
  event("TRAIN_END", 12, 112);
  EXPECT_FALSE(read().training_open);
  EXPECT_EQ(read().mono_first.line, 1U);
  EXPECT_EQ(read().mono_last.name, "TRAIN_END");
}

TEST_F(Audit, MeasuresHowFarTwoClocksGoApart) {
  for (int i = 0; i < 40; ++i) step(i, 10 + i * 0.1, 1000 + i * 1.0);
  const LogAudit audit = read();
  EXPECT_NEAR(audit.clocks_apart_s.value(), 0.9 * 24, 0.01);
  EXPECT_NEAR(audit.clocks_allowed_s, 0.02 + 0.0039, 1e-6);
}

TEST_F(Audit, IsNotConfusedByAProcessThatWasNotScheduledBetweenTwoReadings) {
  for (int i = 0; i < 40; ++i) step(i, 10 + i * 0.1 + (i % 16 == 15 ? 0.08 : 0), 1000 + i * 0.1);
  EXPECT_LT(read().clocks_apart_s.value(), 0.002);
}

TEST_F(Audit, AllowsMoreInAShortLog) {
  event("TRAIN_START", 10, 1000);
  event("TRAIN_END", 20, 1010.4);
  EXPECT_LT(read().clocks_apart_s.value(), read().clocks_allowed_s);
}

TEST_F(Audit, FindsLinesThatAreThereTwice) {
  for (int i = 1; i <= 10; ++i) step(i, i, i);
  EXPECT_EQ(read().repeated, 0U);
  for (int i = 5; i <= 6; ++i) step(i, i, i);
  EXPECT_EQ(read().repeated, 2U);
  EXPECT_EQ(read().first_repeated.line, 11U);
  EXPECT_EQ(read().counters_back, 1U);
}

// A logger with two handlers stamps each of them.
TEST_F(Audit, FindsAStepThatIsLoggedTwiceWithTwoTimes) {
  for (int i = 1; i <= 10; ++i) {
    step(i, i, i);
    step(i, i + 0.001, i);
  }
  EXPECT_EQ(read().repeated, 10U);
  EXPECT_EQ(read().first_repeated.line, 2U);
  EXPECT_EQ(read().counters_back, 0U);
}

TEST_F(Audit, TakesTwoProcessesOfANodesLogForWhatTheyAre) {
  plan_.launch = plan::LaunchMode::per_node;
  for (int i = 1; i <= 10; ++i) {
    step(i, i, i);
    step(i, i, i);
  }
  EXPECT_EQ(read().repeated, 0U);
  EXPECT_EQ(read().counters_back, 0U);
}

TEST_F(Audit, LetsCountersBeginAgainWithATraining) {
  event("TRAIN_START", 1, 1);
  step(10, 2, 2);
  event("TRAIN_START", 3, 3);
  step(1, 4, 4);
  EXPECT_EQ(read().counters_back, 0U);
}

TEST_F(Audit, ComparesTimesWithTheMomentALineWasThere) {
  step(1, 10, 1010);
  step(2, 11, 1011);
  step(3, 14, 1014);
  // Lines 1 and 2 were there at 11.2, line 3 at 12.
  const Arrivals arrivals(
      {{{11'200'000'000, 1'011'200'000'000}, 2}, {{12'000'000'000, 1'012'000'000'000}, 3}});
  const LogAudit audit = read(&arrivals);
  EXPECT_NEAR(audit.mono_ahead_s, 2, 1e-6);
  EXPECT_EQ(audit.mono_ahead.line, 3U);
  EXPECT_NEAR(audit.wall_ahead_s, 2, 1e-3);
}

// Twenty seconds of ten steps a second: line n is written at `written(n)`, says `said(n)`, and a
// link of the chain comes every second.
template <class Written, class Said>
LogAudit audit_of_lines(const Written& written, const Said& said, bool monotonic = true) {
  constexpr int kLines = 200;
  RankLog log;
  const plan::CasePlan plan = case_plan();
  RankLogReader reader(plan, log);
  std::vector<Arrivals::Seen> links;
  for (std::int64_t second = 1; second <= 60; ++second) {
    std::uint64_t lines = 0;
    for (int n = 1; n <= kLines; ++n)
      if (written(n) <= static_cast<double>(second)) lines = static_cast<std::uint64_t>(n);
    if (lines > (links.empty() ? 0 : links.back().lines))
      links.push_back({{second * 1'000'000'000, 0}, lines, (second - 1) * 1'000'000'000});
  }
  const Arrivals arrivals(links);
  reader.use(&arrivals);
  perflog::Parser parser([&](const perflog::Event& e) { reader.on_event(e); });
  for (int n = 1; n <= kLines; ++n)
    parser.feed("[PerfLog] {\"event\": \"STEP_END\", \"step\": " + std::to_string(n) +
                ", \"metadata\": {" +
                (monotonic ? "\"mono_us\": " + std::to_string(std::llround(said(n) * 1e6))
                           : "\"time_ms\": " + std::to_string(std::llround(said(n) * 1e3))) +
                "}}\n");
  parser.finish();
  reader.on_end();
  return log.audit;
}

double squeezed(const LogAudit& audit, bool monotonic = true) {
  RankEvidence rank = constant_rank(0, {.monotonic = monotonic});
  rank.log.audit.by_mono = audit.by_mono;
  rank.log.audit.by_wall = audit.by_wall;
  return judged(round_of({rank})).facts.at("times_squeezed_s").value;
}

TEST(Arrival, OfLinesThatSayThatHalfOfTheTimePassedIsNoticed) {
  const LogAudit audit =
      audit_of_lines([](int n) { return 0.1 * n; }, [](int n) { return 0.05 * n; });
  // From when the first lines were there to the last link.
  EXPECT_NEAR(audit.by_mono.came_in_s, 18, 0.01);
  EXPECT_NEAR(audit.by_mono.said_in_s, 10, 0.1);
  EXPECT_EQ(audit.by_mono.slow_line.line, 200U);
  EXPECT_NEAR(squeezed(audit), 8, 0.2);
}

TEST(Arrival, OfLinesWithoutMonotonicTimeIsHeldAgainstTheirWallClock) {
  const auto written = [](int n) { return 0.1 * n; };
  const LogAudit slow = audit_of_lines(
      written, [](int n) { return 0.01 * n; }, false);
  EXPECT_NEAR(squeezed(slow, false), 16, 0.2);
  EXPECT_EQ(squeezed(audit_of_lines(written, written, false), false), 0);
  // The wall clock that a node sets back is not the rank's doing.
  RankEvidence rank = constant_rank(0, {.monotonic = false});
  rank.log.audit.by_wall = {20, 14, {}};
  RoundEvidence round = round_of({rank});
  add_row(round.nodes[0], 0, "node", {});
  EXPECT_NEAR(judged(round).facts.at("times_squeezed_s").value, 6, 1e-9);
  for (int t = 1; t <= 3; ++t) {
    add_row(round.nodes[0], t, "node", {});
    round.nodes[0].telemetry.rows.back().wall_ns -= 5'000'000'000;
  }
  EXPECT_EQ(judged(round).facts.at("times_squeezed_s").value, 0);
}

// Leaving out the times of most lines must not hide that they came for so long.
TEST(Arrival, OfLinesWithoutTimesCounts) {
  RankLog log;
  const plan::CasePlan plan = case_plan();
  RankLogReader reader(plan, log);
  std::vector<Arrivals::Seen> links;
  for (std::int64_t second = 1; second <= 22; ++second)
    links.push_back({{second * 1'000'000'000, 0},
                     static_cast<std::uint64_t>(second),
                     (second - 1) * 1'000'000'000});
  const Arrivals arrivals(links);
  reader.use(&arrivals);
  perflog::Parser parser([&](const perflog::Event& e) { reader.on_event(e); });
  parser.feed("[PerfLog] {\"event\": \"TRAIN_START\", \"metadata\": {\"mono_us\": 1000000}}\n");
  for (int n = 1; n <= 20; ++n) parser.feed("[PerfLog] {\"event\": \"STEP_END\"}\n");
  parser.feed("[PerfLog] {\"event\": \"TRAIN_END\", \"metadata\": {\"mono_us\": 3000000}}\n");
  parser.finish();
  reader.on_end();
  EXPECT_NEAR(log.audit.by_mono.came_in_s, 20, 0.01);
  EXPECT_NEAR(log.audit.by_mono.said_in_s, 2, 0.01);
}

TEST(Arrival, OfLinesThatAreWrittenWhenTheySayIsFine) {
  const LogAudit audit =
      audit_of_lines([](int n) { return 0.1 * n; }, [](int n) { return 0.1 * n; });
  EXPECT_LT(audit.by_mono.came_in_s, audit.by_mono.said_in_s);
  EXPECT_EQ(squeezed(audit), 0);
}

TEST(Arrival, OfLinesThatABufferHoldsBackIsFine) {
  // Fifty lines a block: they come when the next one no longer fits.
  const LogAudit blocks = audit_of_lines([](int n) { return 0.1 * (1 + (n - 1) / 15 * 15 + 15); },
                                         [](int n) { return 0.1 * n; });
  EXPECT_EQ(squeezed(blocks), 0);
  // All at once, at the end: nothing can be said.
  const LogAudit whole =
      audit_of_lines([](int /*n*/) { return 20.5; }, [](int n) { return 0.1 * n; });
  EXPECT_EQ(whole.by_mono.came_in_s, 0);
}

TEST(Arrival, OfLinesThatAllComeTwoSecondsLateIsFine) {
  const LogAudit audit = audit_of_lines([](int n) { return 0.1 * n + (n > 3 ? 2 : 0); },
                                        [](int n) { return 0.1 * n; });
  EXPECT_EQ(squeezed(audit), 0);
}

TEST_F(Audit, CountsStepsThatTookExactlyAsLong) {
  for (int i = 0; i < 101; ++i) step(i, 10.000'007 + i * 0.01, 110 + i * 0.01);
  EXPECT_EQ(read().lengths, 99U);
  EXPECT_EQ(read().lengths_alike, 99U);
}

TEST_F(Audit, TakesStepsThatDifferByMicroseconds) {
  for (int i = 0; i < 101; ++i)
    step(i, 10.000'007 + i * 0.01 + 1e-6 * (i * i * 7919 % 11), 110 + i * 0.01);
  EXPECT_LT(read().lengths_alike, 30U);
}

TEST_F(Audit, DoesNotCompareStepsByAClockOfMilliseconds) {
  for (int i = 0; i < 101; ++i) step(i, 10 + i * 0.01, 110 + i * 0.01);
  EXPECT_EQ(read().lengths_alike, 0U);
}

TEST(Plausibility, SaysWhichShareOfTheStepsTookExactlyAsLong) {
  RankEvidence rank = constant_rank(0);
  rank.log.audit.lengths = 49;
  rank.log.audit.lengths_alike = 49;
  EXPECT_FALSE(judged(round_of({rank})).facts.contains("steps_alike"));
  rank.log.audit.lengths = 200;
  EXPECT_DOUBLE_EQ(judged(round_of({rank})).facts.at("steps_alike").value, 0.245);
}

// An EVALUATE right after step 1, which ended at 10 s.
constexpr const char* kTime = ", \"step\": 1, \"value\": {\"eval_acc\": 0.5, \"time\": ";

TEST_F(Audit, HasNoRoomForAnEvaluationThatTookLongerThanSinceTheLastStep) {
  event("TRAIN_START", 9.98, 109.98);
  step(1, 10, 110);
  event("EVALUATE", 10.0001, 110.0001, std::string(kTime) + "0.0195}");
  const LogAudit audit = read();
  EXPECT_NEAR(audit.pause_excess_s, 0.0194, 1e-6);
  EXPECT_EQ(audit.long_pause.event.line, 3U);
  EXPECT_EQ(audit.pause_since.line, 2U);
}

TEST_F(Audit, TakesAnEvaluationThatFits) {
  step(1, 10, 110);
  event("EVALUATE", 10.35, 110.35, std::string(kTime) + "0.35}");
  step(2, 11, 111);
  event("EVALUATE", 12.6, 112.6, std::string(kTime) + "2}");  // printed in whole seconds
  step(3, 13, 113);
  event("EVALUATE", 13.0, 113.0, std::string(kTime) + "0}");
  EXPECT_EQ(read().pause_excess_s, 0);
}

TEST_F(Audit, KnowsMillisecondsThatWereGivenForSeconds) {
  step(1, 10, 110);
  event("EVALUATE", 10.35, 110.35, std::string(kTime) + "350}");
  EXPECT_NEAR(read().pause_excess_s, 349.65, 1e-6);
}

TEST_F(Audit, LetsAnEvaluationHoldACheckpointAndNoTwoCheckpointsTheSameTime) {
  const std::string save = ", \"value\": {\"name\": \"checkpoint\", \"time\": ";
  step(1, 10, 110);
  event("PHASE", 10.9, 110.9, save + "0.6}");
  event("EVALUATE", 11, 111, std::string(kTime) + "0.987}");
  EXPECT_EQ(read().pause_excess_s, 0);
  step(2, 12, 112);
  event("PHASE", 13, 113, save + "0.987}");
  event("PHASE", 13.001, 113.001, save + "0.987}");
  EXPECT_NEAR(read().pause_excess_s, 0.986, 1e-6);
}

TEST_F(Audit, DoesNotCompareTheEvaluationsOfProcessesThatShareALog) {
  plan_.launch = plan::LaunchMode::per_node;
  step(1, 10, 110);
  step(1, 10.34, 110.34);
  event("EVALUATE", 10.35, 110.35, std::string(kTime) + "0.345}");
  EXPECT_EQ(read().pause_excess_s, 0);
}

TEST_F(Audit, MeasuresTimesThatRunBackwards) {
  for (int i = 1; i <= 10; ++i) step(i, 10 + i * 0.02 - (i == 5 ? 0.3 : 0), 110);
  const LogAudit audit = read();
  EXPECT_NEAR(audit.back_s, 0.28, 1e-6);
  EXPECT_EQ(audit.back.line, 5U);
}

TEST_F(Audit, FindsATrainingThatEndedBeforeItsSteps) {
  plan_.launch = plan::LaunchMode::per_node;
  event("TRAIN_START", 10, 110);
  for (int i = 1; i <= 10; ++i) step(i, 10 + i, 110 + i);
  event("TRAIN_END", 16, 116);
  EXPECT_NEAR(read().back_s, 4, 1e-6);
}

TEST_F(Audit, FindsCountsThatCannotBe) {
  for (const char* samples : {"-32", "NaN", "Infinity", "1e999", "1e16", "\"32\"", "true"})
    event("STEP_END", 10, 110,
          ", \"step\": 7, \"value\": {\"samples\": " + std::string(samples) + "}");
  event("STEP_END", 10, 110, ", \"value\": {\"data_s\": -1, \"flops\": 1e40, \"tokens\": -5}");
  event("EVALUATE", 10, 110, ", \"value\": {\"time\": -5}");
  const LogAudit audit = read();
  EXPECT_EQ(audit.impossible_counts, 11U);
  EXPECT_EQ(audit.first_impossible.key, "samples");
  EXPECT_EQ(audit.first_impossible.shown, "-32");
  EXPECT_EQ(audit.first_impossible.step, 7);
}

TEST_F(Audit, TakesLargeAndUnknownCounts) {
  event("STEP_END", 10, 110,
        ", \"value\": {\"samples\": 0.5, \"tokens\": 16777216, \"flops\": 4e19, \"data_s\": null}");
  EXPECT_EQ(read().impossible_counts, 0U);
}

TEST_F(Audit, FindsAccuraciesThatAreNoNumbers) {
  for (const char* value : {"Infinity", "NaN", "\"0.99\""})
    event("EVALUATE", 10, 110, ", \"value\": {\"eval_acc\": " + std::string(value) + "}");
  event("FINISHED", 11, 111, ", \"value\": {\"final_acc\": Infinity, \"device_map\": \"auto\"}");
  EXPECT_EQ(read().unreadable_shares, 4U);
}

TEST(Plausibility, TakesNoTrainingThatCountsSamplesAndHasNone) {
  const auto wrong = [](double first, double second) {
    const std::vector<RankEvidence> ranks{constant_rank(0, {.samples = first}),
                                          constant_rank(1, {.samples = second})};
    return judged(round_of(ranks), case_plan(1, 2)).facts.at("counts_impossible").value;
  };
  EXPECT_EQ(wrong(32, 32), 0);
  EXPECT_EQ(wrong(0, 32), 0) << "a pipeline: the last stage counts";
  EXPECT_EQ(wrong(0, 0), 1);
}

TEST(Plausibility, LetsThreadsSwapLinesAndNotMore) {
  RankEvidence rank = constant_rank(0);
  rank.log.audit.back_s = 0.2;
  rank.log.audit.back_sum_s = 0.7;  // of 10 s
  EXPECT_EQ(judged(round_of({rank})).facts.at("times_back_s").value, 0);
  rank.log.audit.back_sum_s = 0.8;
  EXPECT_EQ(judged(round_of({rank})).facts.at("times_back_s").value, 0.8);
  rank.log.audit.back_s = 0.3;
  rank.log.audit.back = {stamp(5), 33, "STEP_END"};
  EXPECT_THAT(judged(round_of({rank})).facts.at("times_back_s").detail, HasSubstr("line 33"));
}

TEST(Plausibility, HoldsTheTimesOfFinishedToTheRanksLife) {
  RankEvidence rank = constant_rank(0);
  rank.log = {};
  rank.log.found = true;
  rank.log.events = 1;
  rank.log.finished = perflog::FinishedSummary{};
  rank.log.finished->p_whole = 1e12;
  rank.log.finished->train_time_s = 100;
  rank.end = moment(0.017);
  const Judged j = judged(round_of({rank}));
  EXPECT_NEAR(j.facts.at("times_outside_run_s").value, 99.983, 1e-6);
  EXPECT_NEAR(j.facts.at("unmeasured_throughput_s").value, 0.017, 1e-6);
  EXPECT_FALSE(metric(j.result, "train_time"));
  rank.end = moment(101);
  const Judged honest = judged(round_of({rank}));
  EXPECT_EQ(honest.facts.at("times_outside_run_s").value, 0);
  EXPECT_EQ(metric(honest.result, "train_time"), 100);
}

TEST(Plausibility, CountsAccuraciesThatAreNoNumbers) {
  RankEvidence rank = constant_rank(0);
  rank.log.audit.unreadable_shares = 2;
  rank.log.audit.first_unreadable_share = {{stamp(5), 33, "EVALUATE"}, 7, "eval_acc", "NaN", 0};
  const Judged j = judged(round_of({rank}));
  EXPECT_EQ(j.facts.at("accuracy_out_of_range").value, 2);
  EXPECT_THAT(j.facts.at("accuracy_out_of_range").detail,
              HasSubstr("line 33 of case/round1/node0_noderank0/rank0.out.log, step 7: eval_acc is "
                        "NaN"));
}

}  // namespace
}  // namespace assay::judge
