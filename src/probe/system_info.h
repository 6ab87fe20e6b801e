#pragma once

#include <filesystem>

#include "core/json.h"

namespace assay::probe {

/// Describes this machine for system.json: host, OS, CPU, memory, network, block devices,
/// accelerators, cgroup and process limits. Reads only from root/proc, root/sys, root/etc and
/// root/dev, so that a fake root describes another machine; only the process's own limits
/// (`ulimits`) and the programs in PATH (`container_runtimes`) are always this process's. Sizes are
/// in bytes, frequencies in MHz, link speeds in Mbit/s. Unreadable values are left out, never zero.
/// Never throws for a machine that lacks something.
[[nodiscard]] Json system_info(const std::filesystem::path& root = "/");

}  // namespace assay::probe
