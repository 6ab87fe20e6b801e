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
