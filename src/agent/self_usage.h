#pragma once

#include <cstdint>

namespace assay::agent {

/// Processor time used by this process so far, in seconds.
[[nodiscard]] double self_cpu_s();

/// This process's resident memory; 0 when /proc/self/status does not give it.
[[nodiscard]] std::int64_t resident_bytes();

/// The peak of resident_bytes(). getrusage would also count the process that forked this one.
[[nodiscard]] std::int64_t peak_resident_bytes();

}  // namespace assay::agent
