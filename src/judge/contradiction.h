#pragma once

#include <string>

#include "judge/evidence.h"

namespace assay::judge {

/// Something a rank says that cannot be true, and by how much.
struct Contradiction {
  double seconds = 0;  ///< 0 when there is none
  std::string detail{};
  void offer(double by, const std::string& what) {
    if (by <= seconds) return;
    seconds = by;
    detail = what;
  }
};

/// How long the things that a rank logged can have taken.
struct Lifetime {
  double seconds = 0;
  double allowed = 0;   ///< the same plus the clocks' possible difference
  std::string words{};  ///< describes the time: "the rank lived 3.200 s"
};

// Possible difference of a duration by two clocks: NTP slews, and stamps have milliseconds.
inline constexpr double kSpanSlack_s = 0.1;
inline constexpr double kSpanSlackShare = 1e-3;
/// Adds the possible difference of two maintained clocks, and `slack_s`.
[[nodiscard]] Lifetime lifetime(double seconds, double slack_s, std::string words);

/// "rank 0 on node0: STEP_END in line 61 of case/round1/node0_noderank0/rank0.out.log"
[[nodiscard]] std::string rank_and_line(const RankEvidence& rank, const LoggedEvent& event);

/// Compares the times that a program reports with how long it can have lived.
[[nodiscard]] Contradiction check_said_times(const RankEvidence& rank, const Lifetime& life);

/// "…; 2 more ranks do the same".
[[nodiscard]] std::string and_more(std::string detail, std::size_t others);

}  // namespace assay::judge
