#pragma once

#include <filesystem>
#include <span>

#include <sys/types.h>

namespace assay::telemetry {

/// Bytes of memory that processes hold together: what each has to itself, and of what they share
/// (mapped files, shared memory) the largest part that one of them has, once. So libraries that all
/// of them map count once; of different files that they map, only the largest set does. NaN: none
/// of them could be read. Reads one small file a process, `root`/proc/PID/statm: the exact shares
/// of smaps would hold up a process of many gigabytes.
[[nodiscard]] double memory_of(std::span<const pid_t> processes, const std::filesystem::path& root);

}  // namespace assay::telemetry
