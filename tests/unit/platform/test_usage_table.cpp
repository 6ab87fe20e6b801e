#include <gtest/gtest.h>

#include "platform/usage_table.h"

namespace assay::platform {
namespace {

constexpr jobs::WallTime kHour = 3'600'000'000'000;
constexpr jobs::WallTime kNovember = 1'793'491'200'000'000'000;  // 2026-11-01T00:00:00Z

jobs::AttemptUse use(jobs::JobId job, int attempt, const std::string& user, jobs::WallTime to_ns) {
  return {.job = job,
          .attempt = attempt,
          .user = user,
          .team = "vision",
          .device_type = "H200",
          .devices = 8,
          .from_ns = to_ns - kHour,
          .to_ns = to_ns};
}

TEST(UsageTable, SumsByMonthTeamUserAndType) {
  UsageTable table;
  table.put(use(1, 1, "ann", kNovember + kHour));
  table.put(use(2, 1, "ann", kNovember + 2 * kHour));
  table.put(use(3, 1, "bob", kNovember - 1));
  const auto rows = table.sums(0, kNovember + 100 * kHour);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].month, "2026-10");
  EXPECT_EQ(rows[0].user, "bob");
  EXPECT_EQ(rows[1].month, "2026-11");
  EXPECT_EQ(rows[1].jobs, 2);
  EXPECT_DOUBLE_EQ(rows[1].device_hours, 16);
}

TEST(UsageTable, AJobCountsOnceHoweverOftenItWasTried) {
  UsageTable table;
  table.put(use(1, 1, "ann", kNovember + kHour));
  table.put(use(2, 1, "ann", kNovember + kHour));
  table.put(use(1, 2, "ann", kNovember + 3 * kHour));
  const auto rows = table.sums(0, kNovember + 100 * kHour);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].jobs, 2);
  EXPECT_DOUBLE_EQ(rows[0].device_hours, 24);
}

TEST(UsageTable, WhatRunsCountsUpToNow) {
  UsageTable table;
  table.put(use(1, 1, "ann", kNovember + kHour));
  const auto rows =
      table.sums(0, kNovember + 100 * kHour, {use(1, 2, "ann", kNovember + 3 * kHour)});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].jobs, 1);
  EXPECT_DOUBLE_EQ(rows[0].device_hours, 16);
  EXPECT_DOUBLE_EQ(table.sums(0, kNovember + 100 * kHour)[0].device_hours, 8);
}

TEST(UsageTable, WhatIsMeasuredLaterReplacesWhatWasKnown) {
  UsageTable table;
  table.put(use(1, 1, "ann", kNovember + kHour));
  jobs::AttemptUse measured = use(1, 1, "ann", kNovember + kHour);
  measured.energy_j = 3.6e6;
  table.put(measured);
  const auto rows = table.sums(0, kNovember + 100 * kHour);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_DOUBLE_EQ(rows[0].energy_kwh, 1);
  EXPECT_DOUBLE_EQ(rows[0].device_hours, 8);
}

TEST(UsageTable, WhatNobodyMeasuredIsNotNothing) {
  UsageTable table;
  table.put(use(1, 1, "ann", kNovember + kHour));
  auto rows = table.sums(0, kNovember + 100 * kHour);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].known_energy_kwh(), std::nullopt);
  EXPECT_DOUBLE_EQ(rows[0].unmetered_device_hours, 8);
  jobs::AttemptUse measured = use(2, 1, "ann", kNovember + kHour);
  measured.energy_j = 3.6e6;
  table.put(measured);
  rows = table.sums(0, kNovember + 100 * kHour);
  EXPECT_EQ(rows[0].known_energy_kwh(), 1);
  EXPECT_DOUBLE_EQ(rows[0].unmetered_device_hours, 8) << "a part of the sum is not known";
  UsageRow both = rows[0];
  both.add(rows[0]);
  EXPECT_EQ(both.known_energy_kwh(), 2);
  EXPECT_DOUBLE_EQ(both.unmetered_device_hours, 16);
}

// Idle for no time, and nobody looked, are two things.
TEST(UsageTable, IdleHoursThatNobodyMeasuredAreNotKnown) {
  UsageTable table;
  table.put(use(1, 1, "ann", kNovember + kHour));
  auto rows = table.sums(0, kNovember + 100 * kHour);
  EXPECT_EQ(rows[0].known_idle_device_hours(), std::nullopt);
  EXPECT_DOUBLE_EQ(rows[0].unwatched_device_hours, 8);
  jobs::AttemptUse measured = use(2, 1, "ann", kNovember + kHour);
  measured.watched_device_s = 8 * 3600;
  table.put(measured);
  rows = table.sums(0, kNovember + 100 * kHour);
  EXPECT_EQ(rows[0].known_idle_device_hours(), 0) << "measured, and never idle";
  EXPECT_DOUBLE_EQ(rows[0].unwatched_device_hours, 8) << "of the other half nobody knows";
  UsageRow both = rows[0];
  both.add(rows[0]);
  EXPECT_DOUBLE_EQ(both.unwatched_device_hours, 16);
  EXPECT_TRUE(both.known_idle_device_hours());
}

TEST(UsageTable, OnlyWhatEndedBetweenTheMomentsCounts) {
  UsageTable table;
  table.put(use(1, 1, "ann", kNovember));
  EXPECT_EQ(table.sums(kNovember, kNovember + 1).size(), 1U);
  EXPECT_TRUE(table.sums(kNovember + 1, kNovember + 2).empty());
  EXPECT_TRUE(table.sums(0, kNovember).empty());
}

}  // namespace
}  // namespace assay::platform
