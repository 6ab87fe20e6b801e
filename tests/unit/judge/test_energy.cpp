#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using telemetry::Column;
using ::testing::HasSubstr;

// Trains from second 10 to second 20.
RoundEvidence ten_seconds() {
  RoundEvidence round = round_of({constant_rank(0, {.train_start = 10})});
  round.telemetry_enabled = true;
  return round;
}

std::string note(const RoundResult& round, const std::string& name) {
  for (const Metric& m : round.metrics)
    if (m.info.name == name) return m.note;
  return "absent";
}

TEST(Energy, OfALinearPowerRampIsItsClosedForm) {
  RoundEvidence round = ten_seconds();
  for (int t = 0; t <= 21; ++t)
    add_row(round.nodes[0], t + 0.37, "ipmi", {{Column::power_w, 100 + 10 * (t + 0.37)}});
  const RoundResult result = judge_round(case_plan(), round);
  EXPECT_NEAR(*metric(result, "energy_j"), 100 * 10 + 5 * (20 * 20 - 10 * 10), 1e-6);
  EXPECT_NEAR(*metric(result, "mean_power_w"), 250, 1e-6);
  EXPECT_NEAR(*metric(result, "max_power_w"), 300, 1e-6);
  EXPECT_NEAR(*metric(result, "samples_per_joule"), 3200 / 2500.0, 1e-9);
  // Idle: from the first sample (0.37 s) to TRAIN_START, mean of the ramp.
  EXPECT_NEAR(*metric(result, "energy_idle_baseline_w"), 100 + 10 * (10 + 0.37) / 2, 1e-6);
}

TEST(Energy, PrefersCountersInterpolatedToTheEdges) {
  RoundEvidence round = ten_seconds();
  for (int t = 0; t <= 22; ++t) {
    // The power reading is nonsense on purpose; the counter rises by 50 W.
    add_row(round.nodes[0], t + 0.5, "dev0",
            {{Column::power_w, 1}, {Column::energy_j, 7000 + 50 * (t + 0.5)}});
  }
  const RoundResult result = judge_round(case_plan(), round);
  EXPECT_NEAR(*metric(result, "energy_j"), 500, 1e-6);
  EXPECT_THAT(note(result, "energy_j"), HasSubstr("energy counters of 1 device"));
}

TEST(Energy, AddsPackagesAndDevicesButNotWhatContainsThem) {
  RoundEvidence round = ten_seconds();
  for (int t = 0; t <= 22; ++t) {
    for (const char* source : {"rapl0", "rapl1", "dev0", "dev1"})
      add_row(round.nodes[0], t, source, {{Column::power_w, 10}});
    for (const char* source : {"dram0", "psys", "node", "cpu0"})
      add_row(round.nodes[0], t, source, {{Column::power_w, 1000}});
  }
  EXPECT_NEAR(*metric(judge_round(case_plan(), round), "energy_j"), 400, 1e-6);
  for (int t = 0; t <= 22; ++t) add_row(round.nodes[0], t, "ipmi", {{Column::power_w, 90}});
  EXPECT_NEAR(*metric(judge_round(case_plan(), round), "energy_j"), 900, 1e-6);
}

TEST(Energy, IsSummedOverNodes) {
  RoundEvidence round = ten_seconds();
  round.nodes.push_back({1, "node1", {}, std::nullopt, 0});
  RankEvidence other = constant_rank(1, {.train_start = 10});
  other.node = 1;
  other.host = "node1";
  round.ranks.push_back(other);
  for (int t = 0; t <= 22; ++t)
    for (NodeEvidence& node : round.nodes) add_row(node, t, "ipmi", {{Column::power_w, 100}});
  const RoundResult result = judge_round(case_plan(2, 1), round);
  EXPECT_NEAR(*metric(result, "energy_j"), 2000, 1e-6);
  EXPECT_NEAR(*metric(result, "max_power_w"), 200, 1e-6);
}

TEST(Energy, OfOneNodeOutOfTwoIsNotGivenAsTheWhole) {
  RoundEvidence round = ten_seconds();
  round.nodes.push_back({1, "node1", {}, std::nullopt, 0});
  for (int t = 0; t <= 22; ++t) add_row(round.nodes[0], t, "ipmi", {{Column::power_w, 100}});
  EXPECT_FALSE(metric(judge_round(case_plan(2, 1), round), "energy_j"));
}

TEST(Energy, IsAbsentWhenTelemetryMissedMuchOfTheTraining) {
  RoundEvidence round = ten_seconds();
  for (int t = 15; t <= 22; ++t) add_row(round.nodes[0], t, "ipmi", {{Column::power_w, 100}});
  Facts facts;
  EXPECT_FALSE(metric(judge_round(case_plan(), round, &facts), "energy_j"));
  EXPECT_LT(facts.at("energy_coverage").value, 0.9);
}

TEST(Energy, IsAbsentWithoutPowerSources) {
  EXPECT_FALSE(metric(judge_round(case_plan(), ten_seconds()), "energy_j"));
}

TEST(Energy, SurvivesACounterThatIsReset) {
  RoundEvidence round = ten_seconds();
  for (int t = 0; t <= 22; ++t)
    add_row(round.nodes[0], t, "dev0", {{Column::energy_j, t < 15 ? 50.0 * t : 50.0 * (t - 15)}});
  // Between the samples at 14 and 15 nothing is known: the counter restarts from 0.
  EXPECT_NEAR(*metric(judge_round(case_plan(), round), "energy_j"), 450, 1e-6);
}

// Trains from second 10 to second 50 and draws 100 W, by its power and by its counter.
RoundEvidence forty_seconds(double counted_w = 100) {
  RoundEvidence round = round_of({constant_rank(0, {.train_start = 10, .step_s = 0.4})});
  round.telemetry_enabled = true;
  for (int t = 0; t <= 52; ++t)
    add_row(round.nodes[0], t, "dev0",
            {{Column::power_w, 100}, {Column::energy_j, 1e6 + counted_w * t}});
  return round;
}

TEST(EnergyCounters, AreKeptBesideTheIntegralAndComparedWithIt) {
  Facts facts;
  const RoundResult result = judge_round(case_plan(), forty_seconds(104), &facts);
  EXPECT_NEAR(*metric(result, "energy_j"), 4160, 1e-6);
  EXPECT_NEAR(*metric(result, "energy_counter_j"), 4160, 1e-6);
  EXPECT_NEAR(*metric(result, "energy_integral_j"), 4000, 1e-6);
  EXPECT_NEAR(facts.at("energy_disagreement").value, 160 / 4160.0, 1e-9);
  EXPECT_THAT(facts.at("energy_disagreement").detail, HasSubstr("dev0 on node 0: "));
  EXPECT_THAT(facts.at("energy_disagreement").detail, HasSubstr("in the steady steps"));
}

TEST(EnergyCounters, AreComparedOverTheSteadyStepsWhereASlowSensorDoesNotShow) {
  // The power that is told is a second late: at the start of the training it is that of before.
  RoundEvidence round = round_of({constant_rank(0, {.train_start = 10, .step_s = 0.4})});
  round.telemetry_enabled = true;
  for (double t = 0; t <= 52; t += 0.5)
    add_row(round.nodes[0], t, "dev0",
            {{Column::power_w, t < 11 ? 0 : 700}, {Column::energy_j, 700 * std::max(0.0, t - 10)}});
  round.telemetry_interval_s = 0.5;
  Facts facts;
  (void)judge_round(case_plan(), round, &facts);
  EXPECT_LT(facts.at("energy_disagreement").value, 0.05);
}

TEST(EnergyCounters, AreNotComparedOverAShortTraining) {
  RoundEvidence round = ten_seconds();
  for (int t = 0; t <= 22; ++t)
    add_row(round.nodes[0], t, "dev0", {{Column::power_w, 10}, {Column::energy_j, 50.0 * t}});
  Facts facts;
  const RoundResult result = judge_round(case_plan(), round, &facts);
  EXPECT_NEAR(*metric(result, "energy_counter_j"), 500, 1e-6);
  EXPECT_NEAR(*metric(result, "energy_integral_j"), 100, 1e-6);
  EXPECT_FALSE(facts.contains("energy_disagreement"));
}

TEST(EnergyCounters, AreNotComparedWhenSamplesAreFew) {
  RoundEvidence round = forty_seconds(200);
  round.telemetry_interval_s = 5;
  Facts facts;
  (void)judge_round(case_plan(), round, &facts);
  EXPECT_FALSE(facts.contains("energy_disagreement"));
}

TEST(EnergyCounters, OfDevicesAreComparedAlsoWhereTheWholeNodeIsMeasured) {
  RoundEvidence round = forty_seconds();
  for (int t = 0; t <= 52; ++t) add_row(round.nodes[0], t, "ipmi", {{Column::power_w, 300}});
  const RoundResult result = judge_round(case_plan(), round);
  EXPECT_NEAR(*metric(result, "energy_j"), 12000, 1e-6);
  EXPECT_NEAR(*metric(result, "energy_counter_j"), 4000, 1e-6);
}

TEST(EnergyCounters, CountForTheSourcesThatHaveThem) {
  RoundEvidence round = ten_seconds();
  for (int t = 0; t <= 22; ++t) {
    add_row(round.nodes[0], t, "dev0", {{Column::power_w, 10}, {Column::energy_j, 50.0 * t}});
    add_row(round.nodes[0], t, "dev1", {{Column::power_w, 10}});
  }
  const RoundResult result = judge_round(case_plan(), round);
  EXPECT_NEAR(*metric(result, "energy_j"), 500 + 100, 1e-6);
  EXPECT_THAT(note(result, "energy_j"), HasSubstr("energy counters and integrated power of 2"));
}

TEST(EnergyCounters, ThatStandStillAreNotUsed) {
  RoundEvidence round = ten_seconds();
  for (int t = 0; t <= 22; ++t)
    add_row(round.nodes[0], t, "dev0", {{Column::power_w, 10}, {Column::energy_j, 7}});
  const RoundResult result = judge_round(case_plan(), round);
  EXPECT_NEAR(*metric(result, "energy_j"), 100, 1e-6);
  EXPECT_FALSE(metric(result, "energy_counter_j"));
}

TEST(EnergyCounters, ThatFallOrLeapAreBridgedByThePower) {
  for (const double odd : {0.0, 1e6 + 2599, 1e6 + 2650, 1e18}) {
    RoundEvidence round = forty_seconds();
    // One reading is wrong: reset to 0, a little too low, a little too high, garbage.
    for (telemetry::Row& row : round.nodes[0].telemetry.rows)
      if (row.mono_ns == moment(27).mono_ns) row.values[Column::energy_j] = odd;
    EXPECT_NEAR(*metric(judge_round(case_plan(), round), "energy_j"), 4000, 110) << odd;
  }
}

TEST(EnergyCounters, ThatRestartInTheMiddleGoOn) {
  RoundEvidence round = forty_seconds();
  for (telemetry::Row& row : round.nodes[0].telemetry.rows)
    if (row.mono_ns > moment(27.5).mono_ns) row.values[Column::energy_j] -= 1e6 + 2790;
  Facts facts;
  const RoundResult result = judge_round(case_plan(), round, &facts);
  EXPECT_NEAR(*metric(result, "energy_j"), 4000, 1e-6);
  EXPECT_THAT(note(result, "energy_counter_j"), HasSubstr("1 restart of a counter"));
  EXPECT_LT(facts.at("energy_disagreement").value, 1e-9);
}

TEST(Energy, OfADeviceThatCameLateIsNotGivenAsTheWhole) {
  RoundEvidence round = forty_seconds();
  for (int t = 25; t <= 52; ++t)
    add_row(round.nodes[0], t, "dev1", {{Column::power_w, 100}, {Column::energy_j, 100.0 * t}});
  Facts facts;
  EXPECT_FALSE(metric(judge_round(case_plan(), round, &facts), "energy_j"));
  EXPECT_LT(facts.at("energy_coverage").value, 0.9);
}

TEST(Energy, IsNotIntegratedOverALongHoleButCounted) {
  RoundEvidence round = round_of({constant_rank(0, {.train_start = 10, .step_s = 1})});
  round.telemetry_enabled = true;
  for (int t = 0; t <= 112; ++t)
    if (t < 30 || t > 70) add_row(round.nodes[0], t, "dev0", {{Column::power_w, 100}});
  Facts facts;
  EXPECT_FALSE(metric(judge_round(case_plan(), round, &facts), "energy_j"));
  EXPECT_NEAR(facts.at("energy_coverage").value, 0.58, 1e-9);
  for (telemetry::Row& row : round.nodes[0].telemetry.rows)
    row.values[Column::energy_j] = 100 * static_cast<double>(row.mono_ns - kMono0_ns) / 1e9;
  EXPECT_NEAR(*metric(judge_round(case_plan(), round), "energy_j"), 10000, 1e-6);
}

TEST(EnergyOfWork, IsThatOfASampleAStepAndTheTarget) {
  RoundEvidence round = forty_seconds();
  round.ranks[0].log.evaluations = {{stamp(30), 0.2, {{"eval_acc", 0.95}}}};
  plan::CasePlan plan = case_plan();
  plan.target = plan::Target{"acc", 0.9, Better::higher};
  const RoundResult result = judge_round(plan, round);
  EXPECT_NEAR(*metric(result, "energy_per_step_j"), 40, 0.3);
  EXPECT_NEAR(*metric(result, "energy_per_sample_j"), 40 / 32.0, 0.01);
  EXPECT_NEAR(*metric(result, "energy_to_target_j"), 2000, 1e-6);
}

TEST(EnergyOfWork, IsThatOfATokenToo) {
  // 100 W; two ranks of 500 tokens in steps of 0.4 s: 2,500 tokens/s.
  RoundEvidence round = forty_seconds();
  round.ranks.push_back(constant_rank(1, {.train_start = 10, .step_s = 0.4}));
  for (RankEvidence& rank : round.ranks)
    for (Step& step : rank.log.tracks[0].steps) {
      step.tokens = 500;
      rank.log.tokens.add(500);
    }
  EXPECT_NEAR(*metric(judge_round(case_plan(1, 2), round), "energy_per_token_j"), 100 / 2500.0,
              1e-4);
  // Steps that are too few to be steady ones: energy and tokens of the whole training.
  RoundEvidence few = ten_seconds();
  for (int t = 0; t <= 22; ++t) add_row(few.nodes[0], t, "ipmi", {{Column::power_w, 100}});
  few.ranks[0].log.tracks.clear();
  few.ranks[0].log.tokens = {true, 4000, 0};
  EXPECT_NEAR(*metric(judge_round(case_plan(), few), "energy_per_token_j"), 1000 / 4000.0, 1e-4);
}

TEST(EnergyOfWork, IsThatOfTheSteadyStepsWithoutTheEvaluationsBetweenThem) {
  // 100 W while it trains, 20 W while it evaluates from 30 to 40.
  RoundEvidence round =
      round_of({constant_rank(0, {.train_start = 10, .steps = 400, .step_s = 0.1})});
  round.telemetry_enabled = true;
  move_times(round.ranks[0].log, 30.05, 10);
  round.ranks[0].log.evaluations = {{stamp(40), 10.0, {{"eval_acc", 0.5}}}};
  round.ranks[0].end = moment(61);
  for (double t = 0; t <= 62; t += 0.1)
    add_row(round.nodes[0], t, "dev0", {{Column::power_w, t > 30 && t < 40 ? 20 : 100}});
  const RoundResult result = judge_round(case_plan(), round);
  EXPECT_NEAR(*metric(result, "steady_power_w"), 100, 1);
  EXPECT_LT(*metric(result, "mean_power_w"), 90);
  EXPECT_NEAR(*metric(result, "energy_per_step_j"), 10, 0.1);
  EXPECT_NEAR(*metric(result, "energy_per_sample_j"), 10 / 32.0, 0.01);
}

TEST(EnergyAboveIdle, IsWhatTheTrainingAddsToTheLeastPowerBeforeIt) {
  // Idle at 40 W for two seconds, 80 W while it loads, 100 W in the training.
  RoundEvidence round = ten_seconds();
  for (int t = 0; t <= 22; ++t)
    add_row(round.nodes[0], t, "ipmi", {{Column::power_w, t < 2 ? 40 : t < 10 ? 80 : 100}});
  const RoundResult result = judge_round(case_plan(), round);
  EXPECT_NEAR(*metric(result, "energy_above_idle_j"), 1000 - 10 * 40, 1e-6);
  EXPECT_GT(*metric(result, "energy_idle_baseline_w"), 60);
}

// A device at work with these values in every sample.
RoundResult worked_with(std::vector<std::pair<Column, double>> values) {
  RoundEvidence round = ten_seconds();
  values.emplace_back(Column::util, 0.9);
  for (int t = 0; t <= 22; ++t) add_row(round.nodes[0], t, "dev0", values);
  return judge_round(case_plan(), round);
}

TEST(PowerLimit, ShareIsTheDriversWord) {
  RoundEvidence round = ten_seconds();
  for (int t = 0; t <= 22; ++t)
    add_row(round.nodes[0], t, "dev0",
            {{Column::util, 1},
             {Column::power_w, 690},
             {Column::power_limit_w, 700},
             {Column::power_capped, t < 14 ? 0 : 1},
             {Column::clock_mhz, t < 14 ? 1980 : 1485},
             {Column::clock_max_mhz, 1980}});
  const RoundResult result = judge_round(case_plan(), round);
  EXPECT_NEAR(*metric(result, "power_limit_share"), 0.6, 0.01);
  EXPECT_NEAR(*metric(result, "clock_ratio"), 0.4 + 0.6 * 0.75, 0.01);
  EXPECT_NEAR(*metric(result, "power_limit_loss"), 0.6 * 0.25, 0.01);
  EXPECT_THAT(note(result, "power_limit_share"), HasSubstr("limit 700 W"));
  EXPECT_THAT(note(result, "clock_ratio"), HasSubstr("of 1980 MHz"));
}

TEST(PowerLimit, IsReachedNearItWhereTheDriverDoesNotSay) {
  const auto share = [](double watts) {
    return *metric(worked_with({{Column::power_w, watts}, {Column::power_limit_w, 700}}),
                   "power_limit_share");
  };
  EXPECT_NEAR(share(690), 1, 1e-9);
  EXPECT_NEAR(share(600), 0, 1e-9);
}

TEST(PowerLimit, IsUnknownWithoutTheColumns) {
  const RoundResult result = worked_with({{Column::power_w, 100}, {Column::clock_mhz, 1000}});
  for (const char* name : {"power_limit_share", "clock_ratio", "power_limit_loss"})
    EXPECT_FALSE(metric(result, name)) << name;
}

TEST(PowerLimit, OfDevicesThatDoNotWorkIsLeftOut) {
  RoundEvidence round = ten_seconds();
  for (int t = 0; t <= 22; ++t) {
    add_row(round.nodes[0], t, "dev0",
            {{Column::util, 1}, {Column::clock_mhz, 1980}, {Column::clock_max_mhz, 1980}});
    add_row(round.nodes[0], t, "dev1",
            {{Column::util, 0}, {Column::clock_mhz, 345}, {Column::clock_max_mhz, 1980}});
  }
  EXPECT_NEAR(*metric(judge_round(case_plan(), round), "clock_ratio"), 1, 1e-9);
}

TEST(IdleBaseline, IsUnknownWhenTrainingStartsAtOnce) {
  RoundEvidence round = round_of({constant_rank(0, {.train_start = 1})});
  for (int t = 0; t <= 12; ++t) add_row(round.nodes[0], t, "ipmi", {{Column::power_w, 100}});
  const RoundResult result = judge_round(case_plan(), round);
  EXPECT_TRUE(metric(result, "energy_j"));
  EXPECT_FALSE(metric(result, "energy_idle_baseline_w"));
  EXPECT_THAT(note(result, "energy_j"), HasSubstr("idle baseline unknown"));
}

}  // namespace
}  // namespace assay::judge
