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
  std::string name;                      ///< the id of its run, or how it was given
  std::vector<judge::RunResult> runs{};  ///< at least one; empty for a baseline
  std::optional<baseline::Baseline> baseline{};
};

/// Reads a side: the folder of a run, a folder that holds runs, several of them separated by
/// commas, or a baseline file; a run may be archived or a packed file, and is unpacked for as long
/// as it takes to judge it. Everything is computed again from the evidence. `progress` is told
/// each folder before it is read. Throws Error: of kind usage for what is not a run, for a run that
/// is going on and for one that is named twice; what a newer version wrote, and a wrong baseline,
/// as their readers say.
[[nodiscard]] Side read_side(const std::string& text,
                             const std::function<void(const std::string&)>& progress = {});

}  // namespace assay::compare
