#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "judge/evidence.h"

namespace assay::judge {

/// Whether the run has a recorded end, and nothing began after it. A run without one still goes on,
/// or it was killed.
[[nodiscard]] bool run_has_ended(const std::vector<Json>& events);

/// The journal's records about the rounds of a run; a later round_start of the same round replaces
/// everything that came before it.
class RoundJournal {
 public:
  explicit RoundJournal(const std::vector<Json>& events);
  /// Whether any round was started.
  [[nodiscard]] bool begun() const noexcept { return !rounds_.empty(); }
  /// The number of the case's last started round; 0 if none was started.
  [[nodiscard]] int last_round(const std::string& case_name) const;
  /// The journal's part of the evidence: status, ranks, nodes and gaps, without logs and telemetry.
  [[nodiscard]] RoundEvidence round(const std::string& case_name, int round) const;

 private:
  std::map<std::pair<std::string, int>, RoundEvidence> rounds_;
  bool run_ended_ = false;
};

}  // namespace assay::judge
