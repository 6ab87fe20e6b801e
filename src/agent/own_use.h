#pragma once

#include <cstdint>
#include <string_view>

namespace assay::agent {

/// Processor time of this process so far, in seconds.
[[nodiscard]] double own_cpu_s();

/// A line of /proc/self/status in bytes: "VmRSS:", or the peak "VmHWM:" (getrusage's would also
/// count the process that forked this one). 0 when it is not there.
[[nodiscard]] std::int64_t own_memory_bytes(std::string_view line);

}  // namespace assay::agent
