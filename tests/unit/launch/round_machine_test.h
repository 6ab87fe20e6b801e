#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "launch/agents/round_machine.h"

namespace assay::launch {

constexpr std::int64_t kSecond = 1'000'000'000;

/// A round on two nodes with one rank each, which was begun at second 0.
class RoundMachineTest : public ::testing::Test {
 protected:
  static RoundMachine::Setup setup() {
    RoundMachine::Setup setup;
    setup.id = "r";
    setup.hosts = {"alpha", "beta"};
    setup.ranks = 2;
    setup.limits.grace = std::chrono::seconds(10);
    setup.limits.stall = std::chrono::seconds(60);
    return setup;
  }

  explicit RoundMachineTest(RoundMachine::Setup with = setup()) : machine_(std::move(with)) {
    machine_.begin(0);
  }

  RoundMachine::Actions report(double at_s, int node, const agent::Report& report) {
    return machine_.report(ns(at_s), node, report);
  }
  RoundMachine::Actions tick(double at_s) { return machine_.tick(ns(at_s)); }
  void start_ranks() {
    for (int node = 0; node < 2; ++node)
      (void)report(0.1, node, agent::RankStart{node, 0, 100 + node, {}});
  }
  RoundMachine::Actions exit(double at_s, int rank, ExitStatus status,
                             EndedBy by = EndedBy::itself) {
    agent::RankExit exit;
    exit.rank = rank;
    exit.exit = status;
    exit.ended_by = by;
    return report(at_s, rank, exit);
  }
  RoundMachine::Actions end(double at_s, int node, const std::string& id = "r") {
    agent::RoundEnd end;
    end.id = id;
    return report(at_s, node, end);
  }
  /// A heartbeat of a node whose rank has been silent for so long, in process state D.
  RoundMachine::Actions beat(double at_s, int node, double idle_s) {
    if (idle_s < 30) return tell(at_s, node, {});
    return tell(at_s, node, {silent(node, idle_s, "D")});
  }
  RoundMachine::Actions tell(double at_s, int node, std::vector<agent::RankLiveness> silent,
                             std::optional<double> busy_cpus = {}) {
    agent::Heartbeat beat;
    beat.id = "r";
    beat.silent = std::move(silent);
    beat.busy_cpus = busy_cpus;
    return report(at_s, node, beat);
  }
  static agent::RankLiveness silent(int rank, double idle_s, const std::string& state = "S") {
    agent::RankLiveness out;
    out.rank = rank;
    out.idle_s = out.event_idle_s = idle_s;
    out.state = state;
    return out;
  }
  static agent::RankLiveness stepping(int rank, double event_idle_s, std::uint64_t steps,
                                      const std::string& state = "S") {
    agent::RankLiveness out = silent(rank, event_idle_s, state);
    out.idle_s = 0.1;  // it prints something else
    out.events = out.steps = steps;
    out.step = static_cast<std::int64_t>(steps);
    return out;
  }
  static std::int64_t ns(double seconds) {
    return static_cast<std::int64_t>(seconds * static_cast<double>(kSecond));
  }
  static std::vector<int> stopped(const RoundMachine::Actions& actions) {
    std::vector<int> nodes;
    for (const RoundMachine::Stop& stop : actions.stop) nodes.push_back(stop.node);
    return nodes;
  }
  [[nodiscard]] RoundOutcome outcome(const std::string& scheduler = "") const {
    return machine_.outcome(scheduler);
  }

  static constexpr ExitStatus kOk{0, {}};

  RoundMachine machine_;
};

/// The same with ranks that do not need each other.
class IndependentRanksTest : public RoundMachineTest {
 protected:
  static RoundMachine::Setup independent() {
    RoundMachine::Setup with = setup();
    with.independent_ranks = true;
    return with;
  }
  IndependentRanksTest() : RoundMachineTest(independent()) {}
};

}  // namespace assay::launch
