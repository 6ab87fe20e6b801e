#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay::slurm {

/// Between the fields of a line that squeue or sinfo prints: names of jobs and reasons do not have
/// it.
inline constexpr char kFieldSeparator = '\x1f';

/// The option --format for these fields.
[[nodiscard]] inline std::string format_of(std::span<const std::string_view> fields) {
  std::string out;
  for (const std::string_view field : fields) {
    if (!out.empty()) out += kFieldSeparator;
    out += field;
  }
  return out;
}

}  // namespace assay::slurm
