#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace assay::importer {

/// AAH's search_space.json as a suite's `space`. In AAH, kernel size and dropout never reach the
/// training; here they do, so both begin with the value that leaves the model unchanged.
struct AahSpace {
  std::vector<int> kernels{3, 5, 7};  ///< without 0, which the suite puts first
  double dropout_low = 0;
  double dropout_high = 0.2;
  /// Batch sizes in samples, or in AAH's multiples of the device's memory in GB.
  double batch_low = 12;
  double batch_high = 14;
  std::vector<std::string> remarks;  ///< what was left out or changed, and why
};

/// Throws Error of kind config at `where` for anything unknown to AAH.
[[nodiscard]] AahSpace read_aah_space(const Json& json, const std::string& where);

/// The lines of `space` for an experiment that begins with `batch_size`. Multiples of memory are
/// treated as fractions of it: AAH's own batch size is the largest that fits.
[[nodiscard]] std::string render(const AahSpace& space, int batch_size);

}  // namespace assay::importer
