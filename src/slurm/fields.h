#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay::slurm {

/// Separates the fields of a line of squeue or sinfo. No job name and no reason contains it.
inline constexpr char kFieldSeparator = '\x1f';

/// The option --format that prints these fields.
[[nodiscard]] inline std::string format_of(std::span<const std::string_view> fields) {
  std::string out;
  for (const std::string_view field : fields) {
    if (!out.empty()) out += kFieldSeparator;
    out += field;
  }
  return out;
}

}  // namespace assay::slurm
