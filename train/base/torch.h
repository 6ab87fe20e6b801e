#pragma once

// libtorch as used in all of train/; precompiled (train/CMakeLists.txt).
#include <string>

#include <ATen/autocast_mode.h>
#include <torch/torch.h>

namespace assay::train {

/// "libtorch 1.13.0, Gloo" with this build's features, for --version.
[[nodiscard]] std::string torch_description();

/// Whether operators on `device` are currently cast to a lower precision in this thread.
[[nodiscard]] bool autocast_enabled(torch::DeviceType device);
/// The type to which they are cast.
[[nodiscard]] torch::ScalarType autocast_type(torch::DeviceType device);
void set_autocast(torch::DeviceType device, bool enabled, torch::ScalarType type);

/// Whether an exception's text means that a device or the host ran out of memory.
[[nodiscard]] bool is_out_of_memory(const std::exception& error) noexcept;

/// The first line of a libtorch exception, without its C++ backtrace.
[[nodiscard]] std::string first_line(const std::exception& error);

}  // namespace assay::train
