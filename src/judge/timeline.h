#pragma once

#include <map>
#include <optional>

#include "judge/evidence.h"

namespace assay::judge {

struct Window {
  double start = 0;
  double end = 0;
  [[nodiscard]] double length() const noexcept { return end - start; }
};

/// Places the stamps of one rank on the round's axis.
struct RankClock {
  bool placed = false;         ///< it can be placed
  bool monotonic = false;      ///< by mono_us; otherwise by the rank's wall clock
  std::int64_t offset_ns = 0;  ///< wall - monotonic
  std::int64_t zero_ns = 0;    ///< wall clock at 0
  [[nodiscard]] std::optional<double> at(const Stamp& stamp) const noexcept;
};

/// A common axis for a round: seconds since its first rank was started. Times within a node are
/// monotonic; nodes are aligned by their wall clocks as of the start of each node's first rank, so
/// clock steps during the round change nothing. Only logs without monotonic times are placed by
/// their own wall clock.
class Timeline {
 public:
  explicit Timeline(const RoundEvidence& evidence);

  [[nodiscard]] RankClock clock(const RankEvidence& rank) const;
  /// Returns nothing if the stamp is empty or cannot be placed.
  [[nodiscard]] std::optional<double> at(const RankEvidence& rank, const Stamp& stamp) const;
  [[nodiscard]] std::optional<double> at(int node, const Instant& instant) const;
  /// Whether that rank's times come from its monotonic clock.
  [[nodiscard]] bool monotonic(const RankEvidence& rank) const;
  /// Whether any time depends on a wall clock during the round.
  [[nodiscard]] bool uses_wall_clock() const noexcept { return uses_wall_clock_; }

 private:
  std::map<int, std::int64_t> offset_ns_;  // wall - monotonic, by node
  std::map<int, Window> alive_;            // first exec to last exit, on the node's monotonic clock
  std::optional<std::int64_t> zero_ns_;    // wall
  bool uses_wall_clock_ = false;
};

/// Detects steps of a wall clock against the monotonic one in a sequence of readings of both. A
/// step counts once two readings agree on it: a process that is descheduled between its two
/// readings yields a single odd pair. Slewing by up to 500 ppm (NTP) is not a step.
class ClockWatch {
 public:
  void see(double mono_s, double wall_s) noexcept;
  [[nodiscard]] double largest_jump() const noexcept { return largest_; }  ///< in s

 private:
  struct Reading {
    double mono = 0;
    double offset = 0;
  };
  [[nodiscard]] static bool agree(const Reading& a, const Reading& b) noexcept;
  std::optional<Reading> stable_;
  std::optional<Reading> odd_;
  double largest_ = 0;
};

/// The largest step of any node's wall clock against its monotonic one, in seconds; nothing without
/// evidence.
[[nodiscard]] std::optional<double> largest_clock_jump(const RoundEvidence& evidence,
                                                       std::string& detail);

}  // namespace assay::judge
