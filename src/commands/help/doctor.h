#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "probe/check.h"

namespace assay::commands {

/// A group of checks on the page of 'assay doctor'.
struct DoctorSection {
  std::string title;
  std::vector<probe::Check> checks;  ///< warn: something is unavailable; fail: Assay cannot work
};

/// The abilities and limits of this machine and installation, with reasons. Every check is bounded
/// and changes nothing. `out` is the folder for runs.
[[nodiscard]] std::vector<DoctorSection> examine(const std::filesystem::path& out);

}  // namespace assay::commands
