#pragma once

#include <cstdint>

namespace assay::agent {

/// Processor time of this process so far, in seconds.
[[nodiscard]] double self_cpu_s();

/// Memory of this process that is resident now; 0 when /proc/self/status does not have it.
[[nodiscard]] std::int64_t resident_bytes();

/// The peak of resident_bytes(). Not from getrusage, which also counts the process that forked this
/// one.
[[nodiscard]] std::int64_t peak_resident_bytes();

}  // namespace assay::agent
