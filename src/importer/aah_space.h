#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace assay::importer {

/// AAH's search_space.json as the `space` of a suite. In AAH kernel size and dropout never reach
/// the training; here they do, so that both begin with what leaves the model as it is.
struct AahSpace {
  std::vector<int> kernels{3, 5, 7};  ///< without 0, which the suite puts first
  double dropout_low = 0;
  double dropout_high = 0.2;
  /// Of batch sizes: samples, or multiples of the device's memory in GB, as AAH has them.
  double batch_low = 12;
  double batch_high = 14;
  std::vector<std::string> remarks;  ///< what was left out or changed, and why
};

/// Reads the file; what AAH does not have is an Error of kind config at `where`.
[[nodiscard]] AahSpace read_aah_space(const Json& json, const std::string& where);

/// The lines of `space`, for an experiment that begins with `batch_size`. Multiples of memory are
/// taken as shares of it: AAH's own batch size is the largest that fits.
[[nodiscard]] std::string render(const AahSpace& space, int batch_size);

}  // namespace assay::importer
