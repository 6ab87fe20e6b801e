#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "judge/result.h"

namespace assay::report {

/// Findings of a case with its rounds, or of the run as a whole, for people: worst first, with a
/// finding shared by several rounds listed once with all its places.
struct MergedFinding {
  judge::Finding finding;           ///< with an empty `where`; see `places`
  std::vector<std::string> places;  ///< "round 2, rank 3 on node1"; empty: the whole case
};

[[nodiscard]] std::vector<MergedFinding> merged_findings(const judge::CaseResult& result);
[[nodiscard]] std::vector<MergedFinding> merged_findings(const judge::RunResult& result);

/// Findings with one rule, severity and advice, represented by the first.
struct FoldedFinding {
  MergedFinding first;
  std::string of;                       ///< `first`'s case; empty: the whole run
  std::vector<std::string> alike{};     ///< the others' places in that case
  std::vector<std::string> cases{};     ///< all affected cases, in order; at least one
  std::vector<MergedFinding> others{};  ///< represented by `first`, from all cases
  bool same_reason = true;              ///< all have the same text
};

/// A run's findings, worst first. Warnings and notes are folded over cases; findings that make a
/// case invalid or incomplete are folded only over its rounds, because they explain its verdict.
[[nodiscard]] std::vector<FoldedFinding> folded_findings(const judge::RunResult& result);
/// Folds the findings of one case, or of the run without its cases.
[[nodiscard]] std::vector<FoldedFinding> folded_findings(const std::vector<MergedFinding>& merged);

/// The places within its case: "round 1; alike in rounds 2 and 3".
[[nodiscard]] std::string where_text(const FoldedFinding& folded);

/// "round 1 and round 2", "rounds 1–3", "5 places, first: round 1, rank 3".
[[nodiscard]] std::string places_text(const std::vector<std::string>& places);

}  // namespace assay::report
