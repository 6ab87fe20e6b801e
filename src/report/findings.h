#pragma once

#include <string>
#include <vector>

#include "judge/result.h"

namespace assay::report {

/// Findings of a case with its rounds, or of the run as a whole, for people: the worst first, and a
/// finding that several rounds share once, with all the places.
struct MergedFinding {
  judge::Finding finding;           ///< `where` is empty, see `places`
  std::vector<std::string> places;  ///< "round 2, rank 3 on node1"; empty: the whole case
};

[[nodiscard]] std::vector<MergedFinding> merged_findings(const judge::CaseResult& result);
[[nodiscard]] std::vector<MergedFinding> merged_findings(const judge::RunResult& result);

/// "round 1 and round 2", "rounds 1–3", "5 places, first: round 1, rank 3".
[[nodiscard]] std::string places_text(const std::vector<std::string>& places);

}  // namespace assay::report
