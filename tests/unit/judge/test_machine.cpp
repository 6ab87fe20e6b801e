#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/judge/build_evidence.h"

namespace assay::judge {
namespace {

using namespace testing;
using telemetry::MachineUse;
using ::testing::HasSubstr;

// Ten seconds on four CPUs: the round used 20 of 40 CPU-seconds, nobody else anything.
MachineUse quiet() {
  MachineUse use;
  use.boot_id = "b0";
  use.cpus = 4;
  use.ranks = 2;
  use.seconds = 10;
  use.busy_s = 20;
  use.own_s = 20;
  use.memory_stalled_s = 0;
  use.swapped_bytes = 0;
  return use;
}

RoundEvidence with(std::vector<MachineUse> machines) {
  RoundEvidence round = round_of({constant_rank(0), constant_rank(1)});
  round.nodes.clear();
  for (MachineUse& use : machines) {
    NodeEvidence node;
    node.node = static_cast<int>(round.nodes.size());
    node.host = "host" + std::to_string(node.node);
    node.agent_cpu_s = 0.1;
    node.machine = std::move(use);
    round.nodes.push_back(std::move(node));
  }
  return round;
}

std::optional<Fact> fact_of(const RoundEvidence& round, const std::string& name) {
  Facts facts;
  (void)judge_round(case_plan(1, 2), round, &facts);
  const auto found = facts.find(name);
  return found == facts.end() ? std::nullopt : std::optional(found->second);
}

double value_of(const RoundEvidence& round, const std::string& name) {
  const auto fact = fact_of(round, name);
  return fact ? fact->value : -1;
}

TEST(Machines, AQuietOneIsUsedByNobodyElse) {
  const RoundEvidence round = with({quiet()});
  EXPECT_EQ(value_of(round, "cpu_by_others"), 0);
  EXPECT_EQ(value_of(round, "load_before"), 0);
  EXPECT_EQ(value_of(round, "machines_not_watched"), 0);
}

TEST(Machines, NamesWhoUsedTheCpusOfTheRound) {
  MachineUse use = quiet();
  use.busy_s = 35.28;
  use.others = {
      {"chrome", "ann", 812, 1, 14}, {"cc1plus", "bob", 90, 3, 1.2}, {"cron", "", 4, 1, 0.1}};
  const auto fact = fact_of(with({use}), "cpu_by_others");
  ASSERT_TRUE(fact);
  EXPECT_NEAR(fact->value, (35.28 - 20 - 0.08) / 40, 1e-9);
  EXPECT_EQ(fact->detail,
            "38 % of 4 CPUs on host0, by chrome 35 % (pid 812, user ann), "
            "cc1plus 3 % (3 processes, the busiest pid 90, user bob)");
}

TEST(Machines, ProgramsUsedNoMoreThanAllOfThemTogether) {
  MachineUse use = quiet();
  use.busy_s = 35.28;
  use.others = {{"cc1plus", "bob", 90, 1, 16}, {"chrome", "ann", 812, 1, 2}};
  EXPECT_EQ(fact_of(with({use}), "cpu_by_others")->detail,
            "38 % of 4 CPUs on host0, by cc1plus 38 % (pid 90, user bob)");
}

TEST(Machines, TheKernelAndTheControllerAreNotOthers) {
  MachineUse use = quiet();
  use.busy_s = 26;
  use.kernel_s = 2;
  use.starter_pid = 7;
  use.starter_s = 4;
  EXPECT_EQ(value_of(with({use}), "cpu_by_others"), 0);
}

TEST(Machines, AgentsOfOneMachineAreNotOthersToEachOther) {
  MachineUse first = quiet();
  MachineUse second = quiet();
  first.busy_s = second.busy_s = 40;
  first.starter_pid = second.starter_pid = 7;
  first.starter_s = second.starter_s = 1;
  EXPECT_EQ(value_of(with({first, second}), "cpu_by_others"), 0);
  second.boot_id = "b1";
  EXPECT_NEAR(value_of(with({first, second}), "cpu_by_others"), (40 - 20 - 1 - 0.08) / 40, 1e-9);
}

TEST(Machines, TheAgentThatListedProcessesNamesThem) {
  MachineUse first = quiet();
  MachineUse second = quiet();
  second.seconds = 11;  // saw more, but no processes
  second.busy_s = 60;
  second.listed = false;
  first.others = {{"chrome", "ann", 812, 1, 14}};
  first.kernel_s = 1;
  const auto fact = fact_of(with({first, second}), "cpu_by_others");
  ASSERT_TRUE(fact);
  EXPECT_NEAR(fact->value, (60 - 40 - 1 - 0.08) / 44, 1e-9);
  EXPECT_THAT(fact->detail, HasSubstr("chrome"));
}

TEST(Machines, RanksThatADaemonRanAreNotTakenForOthers) {
  MachineUse use = quiet();
  use.busy_s = 30;
  use.own_s = 0;
  use.own_elsewhere = true;
  use.named_s = 2;
  EXPECT_NEAR(value_of(with({use}), "cpu_by_others"), 0.05, 1e-9);
}

TEST(Machines, AnAgentWithoutRanksSaysNothingAboutOthers) {
  MachineUse use = quiet();
  use.ranks = 0;
  use.own_s = 0;
  EXPECT_FALSE(fact_of(with({use}), "cpu_by_others"));
  EXPECT_EQ(value_of(with({use}), "machines_not_watched"), 0);
}

TEST(Machines, LoadBeforeNeedsBothTheLastMinuteAndNow) {
  MachineUse use = quiet();
  use.load = 6;  // of the round before
  EXPECT_EQ(value_of(with({use}), "load_before"), 0);
  use.runnable = 6;
  EXPECT_EQ(value_of(with({use}), "load_before"), 1.5);
  use.load = 0.2;  // they have just begun
  EXPECT_EQ(value_of(with({use}), "load_before"), 0.05);
}

TEST(Machines, TheRanksOfAnotherAgentAreNoLoadBefore) {
  MachineUse first = quiet();
  MachineUse second = quiet();
  first.load = second.load = 6;
  second.runnable = 4;  // started later
  EXPECT_EQ(value_of(with({first, second}), "load_before"), 0);
}

TEST(Machines, TheWorstOfSeveralStandsForTheRound) {
  MachineUse first = quiet();
  MachineUse second = quiet();
  second.boot_id = "b1";
  second.steal_s = 4;
  second.memory_stalled_s = 3;
  second.swapped_bytes = 1 << 20;
  second.throttled_s = 5;
  const RoundEvidence round = with({first, second});
  EXPECT_EQ(value_of(round, "steal_share"), 0.1);
  EXPECT_EQ(value_of(round, "memory_pressure"), 0.3);
  EXPECT_EQ(value_of(round, "cpu_throttled"), 0.5);
  EXPECT_NEAR(value_of(round, "swap_bps"), 104857.6, 1e-6);
  EXPECT_THAT(fact_of(round, "steal_share")->detail, HasSubstr("host1"));
}

TEST(Machines, AnotherRunIsNamedWithItsUser) {
  MachineUse use = quiet();
  use.other_runs.emplace();
  EXPECT_EQ(value_of(with({use}), "other_runs"), 0);
  use.other_runs = std::vector<MachineUse::OtherRun>{{"run1", "ann", 2}, {"run2", "bob", 2.52}};
  const auto fact = fact_of(with({use}), "other_runs");
  ASSERT_TRUE(fact);
  EXPECT_NEAR(fact->value, 0.452, 1e-12);
  EXPECT_EQ(fact->detail, "on host0: run1 of ann for 2 s, run2 of bob for 2.5 s");
}

TEST(Machines, ADeviceThatIsSharedIsNamedWithItsOtherUsers) {
  MachineUse use = quiet();
  EXPECT_FALSE(fact_of(with({use}), "devices_shared"));
  use.device_users.emplace();
  EXPECT_EQ(value_of(with({use}), "devices_shared"), 0);
  use.device_users =
      std::vector<MachineUse::DeviceUser>{{1, "python3", "ann", 7}, {1, "a.out", "bob", 8}};
  const auto fact = fact_of(with({use}), "devices_shared");
  ASSERT_TRUE(fact);
  EXPECT_EQ(fact->value, 1);
  EXPECT_EQ(fact->detail,
            "on host0: dev1 by python3 (pid 7, user ann), dev1 by a.out (pid 8, user bob)");
}

TEST(Machines, WhatTheKernelDoesNotTellIsNotKnown) {
  MachineUse use = quiet();
  use.memory_stalled_s.reset();
  use.swapped_bytes.reset();
  for (const char* name : {"memory_pressure", "swap_bps", "cpu_throttled", "other_runs"})
    EXPECT_FALSE(fact_of(with({use}), name)) << name;
}

TEST(Machines, AnAgentThatDidNotTellIsNamed) {
  RoundEvidence round = with({quiet(), quiet()});
  round.nodes[1].machine.reset();
  const auto fact = fact_of(round, "machines_not_watched");
  ASSERT_TRUE(fact);
  EXPECT_EQ(fact->value, 1);
  EXPECT_EQ(fact->detail, "host1");
}

TEST(Machines, NumbersThatCannotBeAreNotBelieved) {
  for (const double wrong : {-1.0, 1e308 * 10}) {
    MachineUse use = quiet();
    use.own_s = wrong;
    EXPECT_EQ(value_of(with({use}), "machines_not_watched"), 1);
    EXPECT_FALSE(fact_of(with({use}), "cpu_by_others"));
  }
}

}  // namespace
}  // namespace assay::judge
