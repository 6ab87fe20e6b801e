#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "train/base/torch.h"

namespace assay::train {

/// The precisions in which this device can compute matrix products with this libtorch, among fp64,
/// fp32, tf32, bf16, fp16 and fp8.
[[nodiscard]] std::vector<std::string> matrix_precisions(torch::Device device);

/// Why `precision` is not among them: "NVIDIA A100 has compute capability 8.0, fp8 needs 8.9".
[[nodiscard]] std::string why_no_precision(torch::Device device, const std::string& precision);

/// This process's CUDA devices, each tested: {libtorch, devices: [{name, memory_bytes}],
/// precisions}, where precisions are common to all; with {problem, advice} if there is none or one
/// cannot be used. Takes a fraction of a second per device. Does not throw.
[[nodiscard]] Json usable_devices();

}  // namespace assay::train
