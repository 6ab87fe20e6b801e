#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nvml.h"

namespace assay::nvml {

/// One line of the format `assay` (docs/telemetry.md), with its newline.
[[nodiscard]] std::string format_line(unsigned index, std::int64_t mono_ns, const Sample& sample);

/// The devices in "0,2" or "GPU-uuid,…"; all for "". Throws Error of kind usage.
[[nodiscard]] std::vector<unsigned> choose_devices(const Nvml& nvml, const std::string& list);

/// Prints a line per device every `interval_ms`, on absolute deadlines, until the reader is gone.
void print_samples(const Nvml& nvml, const std::vector<unsigned>& devices, int interval_ms,
                   bool once);

/// {"driver": …, "devices": [{index, name, uuid, memory_bytes}]}
[[nodiscard]] std::string list_devices(const Nvml& nvml, const std::vector<unsigned>& devices);

}  // namespace assay::nvml
