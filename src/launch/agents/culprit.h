#pragma once

#include <string>
#include <vector>

#include "agent/messages.h"

namespace assay::launch {

/// A living rank of a round that does not go on, and its node.
struct LivingRank {
  int node = 0;
  agent::RankLiveness rank;
};

struct Culprits {
  std::vector<LivingRank> ranks{};  ///< that the others wait for; empty: nobody stands out
  std::string why{};  ///< what tells them from the others: "the others are further on"
};

/// Who is waited for, among ranks that need each other. What is told first is believed: a process
/// that was stopped; the ranks that got least far by their PerfLog (steps ended, then whether they
/// are inside of the next one); the few, or the one, that are silent while the others step no more
/// but still print; those that the kernel holds (disk, driver); the few that compute
/// while the others sleep, or sleep while the others compute (who waits for a collective either
/// sleeps or polls, but all of them alike); the few that sleep elsewhere in the kernel; the one
/// that fell silent well before the others. Pure.
[[nodiscard]] Culprits tell_culprits(const std::vector<LivingRank>& living);

/// ", stopped by a signal": a process state of /proc for people; empty for those that say nothing.
[[nodiscard]] std::string process_state_text(const std::string& state);

}  // namespace assay::launch
