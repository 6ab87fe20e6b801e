#pragma once

#include <string>

#include "judge/evidence.h"

namespace assay::judge {

/// An impossible statement of a rank, and by how much it is impossible.
struct Contradiction {
  double seconds = 0;  ///< 0: there is none
  std::string detail{};
  void offer(double by, const std::string& what) {
    if (by <= seconds) return;
    seconds = by;
    detail = what;
  }
};

/// The longest time that anything in a rank's log can have taken.
struct Lifetime {
  double seconds = 0;
  double allowed = 0;   ///< the same with what the clocks may differ by
  std::string words{};  ///< whose time it is: "the rank lived 3.200 s"
};

// Between a length of time by one clock and by another: NTP slews, and stamps have milliseconds.
inline constexpr double kSpanSlack_s = 0.1;
inline constexpr double kSpanSlackShare = 1e-3;
/// `seconds` plus the difference that two well-kept clocks may have, and `slack_s`.
[[nodiscard]] Lifetime lifetime(double seconds, double slack_s, std::string words);

/// "rank 0 on node0: STEP_END in line 61 of case/round1/node0_noderank0/rank0.out.log"
[[nodiscard]] std::string rank_and_line(const RankEvidence& rank, const LoggedEvent& event);

/// Compares the durations that a program reports with the time that it can have lived.
[[nodiscard]] Contradiction check_said_times(const RankEvidence& rank, const Lifetime& life);

/// "…; 2 more ranks do the same".
[[nodiscard]] std::string and_more(std::string detail, std::size_t others);

}  // namespace assay::judge
