#pragma once

#include <filesystem>
#include <span>

#include <sys/types.h>

namespace assay::telemetry {

/// Bytes of memory held by the processes together: each one's private memory, plus, counted once,
/// the largest shared part (mapped files, shared memory) that any of them has. Libraries that all
/// map thus count once; of different files that they map, only the largest set counts. NaN if none
/// could be read. Reads one small file per process, `root`/proc/PID/statm: the exact shares in
/// smaps would hold up a process of many gigabytes.
[[nodiscard]] double memory_of(std::span<const pid_t> processes, const std::filesystem::path& root);

}  // namespace assay::telemetry
