#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/subprocess.h"
#include "needs.h"
#include "temporary_folder.h"
#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using ::testing::HasSubstr;

/// A rank whose steps of 32 samples take these times, after one second of initialization.
RankEvidence rank_with(int number, const std::vector<double>& seconds) {
  RankEvidence rank = constant_rank(number, {.train_start = 1, .steps = 0});
  RankLog& log = rank.log;
  StepTrack& track = log.tracks.at(0);
  double t = 1;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    t += seconds[i];
    Step step;
    step.at = stamp(t);
    step.number = static_cast<std::int32_t>(i) + 1;
    step.samples = 32;
    track.steps.push_back(step);
    log.samples.add(32);
  }
  track.first_number = 1;
  track.last_number = static_cast<std::int64_t>(seconds.size());
  track.stride = 1;
  track.logged = seconds.size();
  log.last_event = log.train_end = stamp(t);
  rank.end = moment(t + 1);
  audit(log);
  return rank;
}

std::vector<double> noisy(std::size_t count, double mean, unsigned seed, double cv = 0.005) {
  std::mt19937_64 random(seed);
  std::normal_distribution<> noise;
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(mean * (1 + cv * noise(random)));
  return out;
}

std::string note(const RoundResult& round, const std::string& name) {
  for (const Metric& m : round.metrics)
    if (m.info.name == name) return m.note;
  return "absent";
}

// Two ranks with steps of 0.1 s, of which they wait so many seconds for others and, of these, for
// other stages of a pipeline. The first ten steps take ten times as long, and wait all the time.
RoundResult waiting(std::vector<std::pair<float, std::optional<float>>> waits) {
  std::vector<double> seconds = noisy(400, 0.1, 3);
  std::fill_n(seconds.begin(), 10, 1.0);
  std::vector<RankEvidence> ranks;
  for (const auto& [comm, bubble] : waits) {
    RankEvidence& rank = ranks.emplace_back(rank_with(static_cast<int>(ranks.size()), seconds));
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      Step& step = rank.log.tracks[0].steps[i];
      step.comm_s = i < 10 ? 1.0F : comm;
      rank.log.comm_s.add(step.comm_s);
      if (!bubble) continue;
      step.bubble_s = *bubble;
      rank.log.bubble_s.add(*bubble);
    }
    rank.log.finished_values = {{"pipeline_parallel", 2}, {"micro_batches", 3}};
  }
  const int count = static_cast<int>(ranks.size());
  return judge_round(case_plan(1, count), round_of(std::move(ranks)));
}

TEST(Steady, ExposedCommunicationIsTheShareOfTheStepsThatRanksWait) {
  const RoundResult round = waiting({{0.02F, {}}, {0.04F, {}}});
  EXPECT_NEAR(*metric(round, "exposed_comm_share"), 0.3, 0.001);
  EXPECT_FALSE(metric(round, "bubble_share"));
}

TEST(Steady, TheBubbleIsApartFromExposedCommunication) {
  const RoundResult round = waiting({{0.05F, 0.04F}, {0.04F, 0.01F}});
  EXPECT_NEAR(*metric(round, "bubble_share"), 0.25, 0.001);
  EXPECT_NEAR(*metric(round, "exposed_comm_share"), 0.2, 0.001);
  EXPECT_THAT(note(round, "bubble_share"), HasSubstr("equal stages would have 0.25"));
}

TEST(Steady, WaitingThatNotEveryRankTellsIsNotKnown) {
  EXPECT_FALSE(metric(waiting({{0.05F, 0.04F}, {0.04F, {}}}), "bubble_share"));
  EXPECT_FALSE(metric(waiting({{0.05F, {}}}), "exposed_comm_share")) << "one rank waits for nobody";
}

TEST(Steady, ThroughputLeavesOutTheFirstStepsAndTheEvaluations) {
  std::vector<double> seconds = noisy(400, 0.0315, 1);
  seconds[0] = 4.5;
  seconds[1] = 0.9;
  seconds[200] += 3.4;
  RankEvidence rank = rank_with(0, seconds);
  double t = 1;
  for (std::size_t i = 0; i < 200; ++i) t += seconds[i];
  rank.log.evaluations = {{stamp(t + 3.4), 3.4, {}}};
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_NEAR(*metric(round, "steady_throughput"), 32 / 0.0315, 0.005 * 32 / 0.0315);
  EXPECT_NEAR(*metric(round, "steady_step_time"), 0.0315, 0.005 * 0.0315);
  EXPECT_LT(*metric(round, "p_whole"), 0.65 * 32 / 0.0315) << "which holds all of it";
  EXPECT_EQ(origin(round, "steady_throughput"), "measured");
  EXPECT_GT(*metric(round, "steady_share"), 0.9);
}

TEST(Steady, ThroughputHasAnIntervalOverItsSteps) {
  const RoundResult round = judge_round(case_plan(), round_of({rank_with(0, noisy(400, 0.02, 2))}));
  const auto found = std::ranges::find(round.metrics, "steady_throughput",
                                       [](const Metric& m) { return m.info.name; });
  ASSERT_NE(found, round.metrics.end());
  ASSERT_TRUE(found->ci95_low && found->ci95_high);
  EXPECT_LT(*found->ci95_low, found->value);
  EXPECT_LT(found->value, *found->ci95_high);
  EXPECT_NEAR(*found->ci95_high - *found->ci95_low, 4 * 0.005 / 20 * found->value,
              0.0005 * found->value);
}

TEST(Steady, StepsAreKeptForComparisonsInGroupsWithTheSameMean) {
  const RoundResult few =
      judge_round(case_plan(), round_of({rank_with(0, std::vector<double>(60, 0.02))}));
  ASSERT_EQ(few.steady_steps.size(), 1);
  EXPECT_EQ(few.steady_steps[0].size(), 59) << "the first only begins the time";
  const std::vector<double> seconds = noisy(1000, 0.02, 2);
  const RoundResult job =
      judge_round(case_plan(1, 2), round_of({rank_with(0, seconds), rank_with(1, seconds)}));
  ASSERT_EQ(job.steady_steps.size(), 1) << "one of both ranks";
  EXPECT_EQ(job.steady_steps[0].size(), 128);
  double sum = 0;
  for (const double kept : job.steady_steps[0]) sum += kept;
  EXPECT_NEAR(sum / 128, *metric(job, "steady_step_time"), 1e-5);
}

TEST(Steady, StepsOfVaryingSamplesCountBySamplesOverTime) {
  RankEvidence rank = rank_with(0, std::vector<double>(100, 0.1));
  double samples = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    Step& step = rank.log.tracks[0].steps[i];
    step.samples = 16 + static_cast<double>(i % 5);
    if (i > 0) samples += step.samples;
  }
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_NEAR(*metric(round, "steady_throughput"), samples / 9.9, 1e-6);
}

TEST(Steady, RanksOfOneJobAddTheirSamples) {
  const std::vector<double> seconds = noisy(200, 0.05, 3);
  const RoundResult round =
      judge_round(case_plan(1, 2), round_of({rank_with(0, seconds), rank_with(1, seconds)}));
  EXPECT_NEAR(*metric(round, "steady_throughput"), 2 * 32 / 0.05, 0.005 * 1280);
  EXPECT_NEAR(*metric(round, "steady_step_time"), 0.05, 0.005 * 0.05);
}

TEST(Steady, RanksOnTheirOwnAddTheirRatesInTheTimeInWhichAllAreSteady) {
  // The second is twice as fast, and slower at first.
  std::vector<double> fast = noisy(600, 0.025, 5);
  for (std::size_t i = 0; i < 100; ++i) fast[i] *= 1.5;
  RankEvidence a = rank_with(0, noisy(300, 0.05, 4));
  RankEvidence b = rank_with(1, fast);
  const RoundResult round = judge_round(case_plan(1, 2), round_of({a, b}));
  EXPECT_NEAR(*metric(round, "steady_throughput"), 32 / 0.05 + 32 / 0.025, 0.005 * 1920);
  EXPECT_THAT(note(round, "steady_throughput"), HasSubstr("every rank"));
}

TEST(Steady, CheckpointsAreApartWithTheirTime) {
  std::vector<double> seconds = noisy(300, 0.02, 6);
  RankEvidence writes = rank_with(0, {});
  double t = 1;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const bool saves = i % 50 == 49;
    if (saves) seconds[i] += 0.03;
    t += seconds[i];
    if (saves) writes.log.phases.push_back({TimePart::checkpoint, stamp(t), 0.03});
  }
  RankEvidence first = rank_with(0, seconds);
  first.log.phases = writes.log.phases;
  const RankEvidence waits = rank_with(1, seconds);
  const RoundResult round = judge_round(case_plan(1, 2), round_of({first, waits}));
  EXPECT_NEAR(*metric(round, "steady_step_time"), 0.02, 0.001 * 0.02);
  EXPECT_NEAR(*metric(round, "step_time_mean"), 0.02, 0.001 * 0.02);
  EXPECT_NEAR(*metric(round, "checkpoint_time"), 0.18, 1e-6);
  EXPECT_EQ(*metric(round, "stall_time"), 0);
}

TEST(Steady, StallsAreApartWithTheirTime) {
  std::vector<double> seconds = noisy(300, 0.02, 6);
  seconds[100] = 1;
  seconds[250] = 0.5;
  Facts facts;
  const RoundResult round = judge_round(case_plan(), round_of({rank_with(0, seconds)}), &facts);
  EXPECT_NEAR(*metric(round, "steady_throughput"), 1600, 8);
  EXPECT_NEAR(*metric(round, "stall_time"), 1.5, 1e-3);
  EXPECT_NEAR(facts.at("stall_share").value, 1.5 / 7.44, 0.005);
  EXPECT_THAT(note(round, "steady_throughput"), HasSubstr("without 2 stalls"));
}

TEST(Steady, StepsThatKeepChangingAreSaidToBeUnsteady) {
  std::vector<double> seconds;
  for (int i = 0; i < 200; ++i) seconds.push_back(0.02 * (1 + 0.01 * i));
  Facts facts;
  const RoundResult round = judge_round(case_plan(), round_of({rank_with(0, seconds)}), &facts);
  EXPECT_EQ(facts.at("steps_unsettled").value, 1);
  EXPECT_EQ(*metric(round, "steady_share"), 0);
  EXPECT_EQ(origin(round, "steady_throughput"), "estimated");
  EXPECT_THAT(note(round, "steady_throughput"), HasSubstr("not steady"));
  double rest = 0;
  for (std::size_t i = 1; i < seconds.size(); ++i) rest += seconds[i];
  EXPECT_NEAR(*metric(round, "steady_throughput"), 199 * 32 / rest, 1e-3) << "all of them";
}

TEST(Steady, AFewStepsAreTakenAsTheyAre) {
  Facts facts;
  const RoundResult round =
      judge_round(case_plan(), round_of({rank_with(0, std::vector<double>(5, 0.2))}), &facts);
  EXPECT_EQ(facts.at("steps_unsettled").value, 1);
  EXPECT_THAT(facts.at("steps_unsettled").detail, HasSubstr("4 steps"));
  EXPECT_NEAR(*metric(round, "steady_throughput"), 160, 1e-6);
}

TEST(Steady, WarmupStepsOfTheCaseDoNotCount) {
  std::vector<double> seconds(60, 0.1);
  for (std::size_t i = 0; i < 20; ++i) seconds[i] = 0.101;
  auto plan = case_plan();
  plan.warmup_steps = 20;
  const RoundResult round = judge_round(plan, round_of({rank_with(0, seconds)}));
  EXPECT_NEAR(*metric(round, "steady_step_time"), 0.1, 1e-6);
}

TEST(Steady, IsWhatAnIndependentProgramFindsInTheRawLines) {
  const std::string python = needs::python_with("statistics");
  if (python.empty()) GTEST_SKIP() << needs::package("python3");
  const assay::testing::TemporaryFolder folder;
  std::vector<RankEvidence> ranks;
  std::vector<std::string> command{python, ASSAY_SOURCE_DIR "/docs/steady.py"};
  for (int number = 0; number < 2; ++number) {
    // Both wait for the slower one; the first steps are slow, one of them stalls, one evaluates.
    std::vector<double> seconds = noisy(400, 0.03, 11, 0.01);
    for (std::size_t i = 0; i < 60; ++i) seconds[i] *= 1.5;
    seconds[0] = 5;
    seconds[300] = 0.4;
    seconds[350] += 2;
    RankEvidence rank = rank_with(number, seconds);
    const StepTrack& track = rank.log.tracks[0];
    rank.log.evaluations = {{track.steps[350].at, 2.0, {}}};
    std::string text;
    const auto line = [&](const char* name, const Stamp& at, const std::string& rest) {
      text += fmt::format(
          R"([PerfLog] {{"event": "{}", {}, "metadata": {{"time_ms": {}, "mono_us": {}}}}})"
          "\n",
          name, rest, at.wall_ms, at.mono_us);
    };
    for (std::size_t i = 0; i < track.steps.size(); ++i) {
      if (i == 350) line("EVALUATE", track.steps[i].at, R"("value": {"time": 2.0})");
      line("STEP_END", track.steps[i].at,
           fmt::format(R"("step": {}, "value": {{"samples": 32}})", i + 1));
    }
    command.push_back(folder.write(fmt::format("rank{}.out.log", number), text).string());
    ranks.push_back(std::move(rank));
  }
  const CommandResult script = run_command(command);
  ASSERT_TRUE(script.status.ok()) << script.err;
  const double independent = std::stod(script.out);
  const RoundResult round = judge_round(case_plan(1, 2), round_of(std::move(ranks)));
  EXPECT_NEAR(*metric(round, "steady_throughput"), independent, 0.01 * independent);
  EXPECT_NEAR(independent, 2 * 32 / 0.03, 0.01 * 2 * 32 / 0.03);
}

// What passed between the attempts is in no step, and would be lost.
TEST(Steady, OfATrainingThatBeganAgainIsThatOfTheWholeTraining) {
  RankEvidence rank = constant_rank(0);
  rank.log.restarts = 1;
  rank.log.tracks[0].steps[50].after_break = true;
  for (std::size_t i = 50; i < rank.log.tracks[0].steps.size(); ++i)
    rank.log.tracks[0].steps[i].at = stamp(12 + 0.1 * static_cast<double>(i));
  rank.log.train_end = stamp(22);
  rank.log.last_event = stamp(22);
  rank.end = moment(23);
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_NEAR(*metric(round, "p_whole"), 160, 1e-6);
  EXPECT_NEAR(*metric(round, "steady_throughput"), 160, 1e-6);
  EXPECT_EQ(origin(round, "steady_throughput"), "estimated");
  EXPECT_FALSE(metric(round, "steady_step_time"));
  EXPECT_FALSE(round.steady);
}

TEST(Steady, IsNotAskedOfStepsOfSeveralKinds) {
  auto plan = case_plan();
  plan.headline = "triad_bytes_per_s";
  Facts facts;
  const RoundResult round =
      judge_round(plan, round_of({rank_with(0, noisy(100, 0.02, 7))}), &facts);
  EXPECT_FALSE(metric(round, "steady_throughput"));
  EXPECT_FALSE(facts.contains("steps_unsettled"));
}

TEST(Steady, WithoutSamplesHasStepTimesOnly) {
  RankEvidence rank = rank_with(0, noisy(100, 0.02, 8));
  rank.log.samples = {};
  for (Step& step : rank.log.tracks[0].steps) step.samples = 0;
  const RoundResult round = judge_round(case_plan(), round_of({rank}));
  EXPECT_FALSE(metric(round, "steady_throughput"));
  EXPECT_NEAR(*metric(round, "steady_step_time"), 0.02, 1e-4);
}

TEST(Steady, OfStepsWithoutTimeIsAbsentNotInfinite) {
  const RoundResult round =
      judge_round(case_plan(), round_of({rank_with(0, std::vector<double>(50, 0))}));
  EXPECT_FALSE(metric(round, "steady_throughput"));
}

RankEvidence with_flops(RankEvidence rank, float flops) {
  for (Step& step : rank.log.tracks[0].steps) {
    step.flops = flops;
    rank.log.flops.add(flops);
  }
  return rank;
}

TEST(SteadyFlops, AreOfTheSteadyStepsWithThoseOfTheWholeTrainingBeside) {
  std::vector<double> seconds = noisy(400, 0.01, 9);
  seconds[0] = 4;
  auto plan = case_plan();
  plan.peak_flops = 1e12;
  const RoundResult round = judge_round(plan, round_of({with_flops(rank_with(0, seconds), 5e9F)}));
  EXPECT_NEAR(*metric(round, "achieved_flops"), 5e11, 0.005 * 5e11);
  EXPECT_NEAR(*metric(round, "mfu"), 0.5, 0.005 * 0.5);
  EXPECT_NEAR(*metric(round, "achieved_flops_whole"), 2.5e11, 0.01 * 2.5e11);
  EXPECT_NEAR(*metric(round, "mfu_whole"), 0.25, 0.01 * 0.25);
  EXPECT_FALSE(metric(round, "best_flops"));
}

TEST(SteadyFlops, OfAMicroBenchmarkAreTheMedianStepWithTheBestBeside) {
  std::vector<double> seconds(100, 0.01);
  for (std::size_t i = 0; i < 100; i += 4) seconds[i] = 0.014;
  auto plan = case_plan(1, 2);
  plan.headline = "achieved_flops";
  RankEvidence a = with_flops(rank_with(0, seconds), 1e9F);
  RankEvidence b = with_flops(rank_with(1, seconds), 1e9F);
  a.log.best_flops = b.log.best_flops = 1.2e11;
  const RoundResult round = judge_round(plan, round_of({a, b}));
  EXPECT_NEAR(*metric(round, "achieved_flops"), 2e11, 1e8);
  EXPECT_NEAR(*metric(round, "best_flops"), 2.4e11, 1);
  const CaseResult result = summarize_case(plan, {round});
  EXPECT_EQ(result.headline, "achieved_flops");
  EXPECT_EQ(result.beside, "best_flops");
}

}  // namespace
}  // namespace assay::judge
