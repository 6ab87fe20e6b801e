#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agent/messages.h"
#include "agent/rank_process.h"

namespace assay::agent {

/// Observes what silent ranks do. It looks at processes only during silence, and a few times within
/// the stall limit, so that a round in progress costs nothing.
class RankWatch {
 public:
  using Ranks = std::vector<std::unique_ptr<RankProcess>>;

  /// A limit of 0 means none. Ranks count as silent after half of the shorter limit, at most half a
  /// minute. `elsewhere`: the ranks' work is not done below their own processes (containers of a
  /// daemon), so their CPU time says nothing.
  RankWatch(Nanoseconds stall_limit, Nanoseconds time_limit, bool elsewhere);

  /// Running ranks that have been silent for long (Heartbeat::silent), longest first.
  [[nodiscard]] std::vector<RankLiveness> silent(std::int64_t mono_ns, const Ranks& ranks);

 private:
  struct Reading {
    std::int64_t mono_ns = 0;
    std::vector<double> cpu_s;   // by rank
    std::vector<pid_t> telling;  // by what was seen, the process that each rank waits for
  };

  void read(std::int64_t mono_ns, const Ranks& ranks);
  [[nodiscard]] pid_t telling_process(const Ranks& ranks, std::size_t i) const;
  [[nodiscard]] RankLiveness look(std::int64_t mono_ns, const Ranks& ranks, std::size_t i) const;

  double told_after_s_;
  std::int64_t read_every_ns_;
  bool elsewhere_;
  std::optional<Reading> first_;  // when the silence began to be watched
  Reading last_;
};

}  // namespace assay::agent
