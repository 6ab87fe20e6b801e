#pragma once

#include <map>
#include <vector>

#include "core/json.h"
#include "judge/evidence.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::judge {

/// The journal's records about the rounds of a run; a later round_start of the same round replaces
/// everything that came before it.
class RoundJournal {
 public:
  explicit RoundJournal(const std::vector<Json>& events);
  /// Whether any round was started.
  [[nodiscard]] bool begun() const noexcept { return !rounds_.empty(); }
  /// The number of the last round of the case that was started; 0: none was.
  [[nodiscard]] int last_round(const std::string& case_name) const;
  /// The journal's part of the evidence: status, ranks, nodes, gaps; no logs and no telemetry.
  [[nodiscard]] RoundEvidence round(const std::string& case_name, int round) const;

 private:
  std::map<std::pair<std::string, int>, RoundEvidence> rounds_;
};

/// Adds logs and telemetry from the run directory. Logs are parsed by as many threads as there are
/// processors (`threads` > 0: that many); the result does not depend on their number. What cannot
/// be read becomes a problem in the evidence. Wrong wall clocks are corrected
/// (judge/clock_alignment.h).
void load_files(const store::RunDir& run, const plan::CasePlan& plan, RoundEvidence& evidence,
                unsigned threads = 0);

}  // namespace assay::judge
