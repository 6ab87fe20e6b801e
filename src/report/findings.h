#pragma once

#include <cstddef>
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

/// Findings of one rule, severity and advice: one speaks for all.
struct FoldedFinding {
  MergedFinding first;
  std::string of;                       ///< the case of `first`; empty: the run as a whole
  std::vector<std::string> alike{};     ///< places of the others in that case
  std::vector<std::string> cases{};     ///< all cases with it, in order; one or more
  std::vector<MergedFinding> others{};  ///< those that `first` represents, of all cases
  bool same_reason = true;              ///< all of them say the same
};

/// The findings of a run, the worst first. Warnings and notes are folded over cases; findings that
/// make a case invalid or incomplete only over its rounds, because they explain its verdict.
[[nodiscard]] std::vector<FoldedFinding> folded_findings(const judge::RunResult& result);
/// Those of one case, or of the run without its cases.
[[nodiscard]] std::vector<FoldedFinding> folded_findings(const std::vector<MergedFinding>& merged);

/// "round 1; alike in rounds 2 and 3": the place in its case.
[[nodiscard]] std::string where_text(const FoldedFinding& folded);

/// "round 1 and round 2", "rounds 1–3", "5 places, first: round 1, rank 3".
[[nodiscard]] std::string places_text(const std::vector<std::string>& places);

}  // namespace assay::report
