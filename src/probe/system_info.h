#pragma once

#include <filesystem>

#include "core/json.h"

namespace assay::probe {

/// What this machine is, for system.json: host, OS, CPU, memory, network, block devices,
/// accelerators, cgroup and process limits. Everything is read from root/proc, root/sys, root/etc
/// and root/dev, so that a fake root describes another machine; only the process's own limits
/// (`ulimits`) and the programs found in PATH (`container_runtimes`) are always those of this
/// process. Sizes in bytes, frequencies in MHz, link speeds in Mbit/s. What cannot be read is left
/// out, never zero. Never throws for a machine that lacks something.
[[nodiscard]] Json system_info(const std::filesystem::path& root = "/");

}  // namespace assay::probe
