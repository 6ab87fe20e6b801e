#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using telemetry::Column;
using ::testing::HasSubstr;

RoundEvidence trained() {  // trains from 2 to 12, exits at 13
  RoundEvidence round = round_of({constant_rank(0)});
  round.telemetry_enabled = true;
  return round;
}

TEST(Utilisation, IsThatOfTheTrainingNotOfTheRestOfTheRound) {
  RoundEvidence round = trained();
  for (double t = 0; t <= 13; t += 0.5) {
    const double busy = t >= 2 && t <= 12 ? 0.8 : 0.0;
    add_row(round.nodes[0], t, "dev0", {{Column::util, busy}});
    add_row(round.nodes[0], t, "dev1", {{Column::util, busy / 2}});
    add_row(round.nodes[0], t, "node", {{Column::util, busy / 4}});
  }
  const RoundResult result = judge_round(case_plan(), round);
  EXPECT_NEAR(*metric(result, "device_util"), 0.6, 1e-9);
  EXPECT_NEAR(*metric(result, "cpu_util"), 0.2, 1e-9);
}

TEST(Memory, PeaksAreTheLargestOfTheWholeRound) {
  RoundEvidence round = trained();
  add_row(round.nodes[0], 0.1, "node", {{Column::mem_used_bytes, 5e9}});
  add_row(round.nodes[0], 1, "node", {{Column::mem_used_bytes, 9e9}});
  add_row(round.nodes[0], 2, "node", {{Column::mem_used_bytes, 7e9}});
  add_row(round.nodes[0], 2, "dev0", {{Column::mem_used_bytes, 1e9}});
  add_row(round.nodes[0], 2, "dev1", {{Column::mem_used_bytes, 3e9}});
  const RoundResult result = judge_round(case_plan(), round);
  EXPECT_EQ(*metric(result, "mem_peak_bytes"), 9e9);
  EXPECT_EQ(*metric(result, "device_mem_peak_bytes"), 3e9);
}

TEST(Memory, OfTheJobIsBesideThatOfTheNode) {
  RoundEvidence round = trained();
  for (int t = 1; t <= 3; ++t) {
    add_row(round.nodes[0], t, "node", {{Column::mem_used_bytes, 9e9}});
    add_row(round.nodes[0], t, "job", {{Column::mem_used_bytes, t * 1e9}});
  }
  const RoundResult result = judge_round(case_plan(), round);
  EXPECT_EQ(*metric(result, "job_mem_peak_bytes"), 3e9);
  EXPECT_EQ(*metric(result, "mem_peak_bytes"), 9e9);
  const auto series = std::ranges::find(result.series, "job_memory", &Series::name);
  ASSERT_NE(series, result.series.end());
  EXPECT_EQ(series->points.size(), 3U);
}

TEST(Throttling, IsCountedInDeviceSecondsOfTheTraining) {
  RoundEvidence round = trained();
  for (int t = 0; t <= 13; ++t) {
    add_row(round.nodes[0], t, "dev0", {{Column::throttle, t >= 10 ? 1.0 : 0.0}});
    add_row(round.nodes[0], t, "dev1", {{Column::throttle, t == 5 ? 1.0 : 0.0}});
  }
  Facts facts;
  (void)judge_round(case_plan(), round, &facts);
  EXPECT_NEAR(facts.at("throttled_s").value, 2 + 1, 1e-9);
  EXPECT_THAT(facts.at("throttled_s").detail, HasSubstr("dev0"));
}

TEST(EccErrors, AreTheIncreaseDuringTheRound) {
  RoundEvidence round = trained();
  for (int t = 0; t <= 13; ++t)
    add_row(round.nodes[0], t, "dev0", {{Column::ecc_errors, t < 6 ? 4.0 : 7.0}});
  Facts facts;
  (void)judge_round(case_plan(), round, &facts);
  EXPECT_EQ(facts.at("ecc_errors").value, 3);
}

TEST(DeviceFacts, AreUnknownWithoutDevices) {
  Facts facts;
  (void)judge_round(case_plan(), trained(), &facts);
  EXPECT_FALSE(facts.contains("throttled_s"));
  EXPECT_FALSE(facts.contains("ecc_errors"));
}

double largest_gap(const RoundEvidence& round) {
  Facts facts;
  (void)judge_round(case_plan(), round, &facts);
  return facts.at("telemetry_gap_max_s").value;
}

TEST(TelemetryGap, OfARegularSeriesIsZero) {
  RoundEvidence round = trained();
  for (int t = 0; t <= 13; ++t) add_row(round.nodes[0], t, "node", {{Column::util, 0}});
  EXPECT_NEAR(largest_gap(round), 0, 1e-9);
}

TEST(TelemetryGap, IsTheHoleBeyondTheInterval) {
  RoundEvidence round = trained();
  for (int t = 0; t <= 13; ++t)
    if (t < 4 || t > 9) add_row(round.nodes[0], t, "node", {{Column::util, 0}});
  EXPECT_NEAR(largest_gap(round), 6, 1e-9);
}

TEST(TelemetryGap, CountsALateStartAndAnEarlyEnd) {
  RoundEvidence late = trained();
  for (int t = 8; t <= 13; ++t) add_row(late.nodes[0], t, "node", {{Column::util, 0}});
  EXPECT_NEAR(largest_gap(late), 7, 1e-9);
  RoundEvidence early = trained();
  for (int t = 0; t <= 3; ++t) add_row(early.nodes[0], t, "node", {{Column::util, 0}});
  EXPECT_NEAR(largest_gap(early), 9, 1e-9);
}

TEST(TelemetryGap, OfNoTelemetryAtAllIsTheWholeRound) {
  Facts facts;
  (void)judge_round(case_plan(), trained(), &facts);
  EXPECT_NEAR(facts.at("telemetry_gap_max_s").value, 12, 1e-9);
  EXPECT_EQ(facts.at("telemetry_rows").value, 0);
}

TEST(TelemetryGap, IsUnknownWhenTelemetryIsSwitchedOff) {
  RoundEvidence round = trained();
  round.telemetry_enabled = false;
  Facts facts;
  (void)judge_round(case_plan(), round, &facts);
  EXPECT_FALSE(facts.contains("telemetry_gap_max_s"));
  EXPECT_FALSE(facts.contains("telemetry_rows"));
}

TEST(HarnessOverhead, IsAgentTimePerSecondOfTheRound) {
  RoundEvidence round = trained();
  round.nodes[0].agent_cpu_s = 0.026;
  EXPECT_NEAR(*metric(judge_round(case_plan(), round), "harness_overhead"), 0.002, 1e-9);
}

TEST(Series, AreBoundedAndNamedForCharts) {
  RoundEvidence round = trained();
  for (int i = 0; i < 13'000; ++i) {
    add_row(round.nodes[0], i * 0.001, "node",
            {{Column::util, i == 7000 ? 1.0 : 0.1}, {Column::mem_used_bytes, 1e9}});
    add_row(round.nodes[0], i * 0.001, "ipmi", {{Column::power_w, 200}});
  }
  const RoundResult result = judge_round(case_plan(), round);
  for (const char* name : {"cpu_util", "memory", "power", "throughput", "loss"}) {
    const auto series = std::ranges::find(result.series, name, &Series::name);
    ASSERT_NE(series, result.series.end()) << name;
    EXPECT_LE(series->points.size(), 600U);
    EXPECT_GE(series->points.size(), 2U);
  }
  const auto cpu = std::ranges::find(result.series, "cpu_util", &Series::name);
  EXPECT_EQ(std::ranges::max_element(cpu->points, {}, &Point::value)->value, 1.0);
}

}  // namespace
}  // namespace assay::judge
