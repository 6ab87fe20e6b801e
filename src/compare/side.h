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
  std::string name;                      ///< the id of its run, or its argument
  std::vector<judge::RunResult> runs{};  ///< at least one; empty for a baseline
  std::optional<baseline::Baseline> baseline{};
};

/// Reads a side: the folder of a run, a folder that contains runs, several of them separated by
/// commas, or a baseline file; a run may be archived or a packed file, and is then unpacked while
/// it is judged. Everything is recomputed from the evidence. `progress` gets each folder before it
/// is read. Throws Error of kind usage for anything that is not a run, for a run in progress and
/// for a run that is named twice; and the errors of the readers for files of a newer version and
/// wrong baselines.
[[nodiscard]] Side read_side(const std::string& text,
                             const std::function<void(const std::string&)>& progress = {});

}  // namespace assay::compare
