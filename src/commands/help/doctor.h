#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "probe/check.h"

namespace assay::commands {

/// What belongs together on the page of 'assay doctor'.
struct DoctorSection {
  std::string title;
  std::vector<probe::Check> checks;  ///< warn: something is not possible; fail: Assay cannot work
};

/// What this machine and this installation can and cannot do, and why. Every question is bounded;
/// nothing is changed. `out`: the folder in which runs would be.
[[nodiscard]] std::vector<DoctorSection> examine(const std::filesystem::path& out);

}  // namespace assay::commands
