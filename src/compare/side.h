#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "baseline/baseline.h"
#include "judge/result.h"

namespace assay::compare {

/// One side of a comparison: runs whose rounds count together, or a baseline.
struct Side {
  std::string name;                      ///< its run's id, or the text by which it was given
  std::vector<judge::RunResult> runs{};  ///< at least one; empty for a baseline
  std::optional<baseline::Baseline> baseline{};
};

/// Reads a side: a run's folder, a folder of runs, several of these separated by commas, or a
/// baseline file; a run may be archived or packed, and is then unpacked while it is judged.
/// Recomputes everything from the evidence. Calls `progress` with each folder before reading it.
/// Throws Error of kind usage for a folder that is not a run, a run in progress and a run named
/// twice; for files of a newer version and wrong baselines, what their readers throw.
[[nodiscard]] Side read_side(const std::string& text,
                             const std::function<void(const std::string&)>& progress = {});

}  // namespace assay::compare
