#pragma once

// Memory that notices what is written beside it. A program that links this file has its own
// posix_memalign and free; libtorch's tensors and oneDNN's buffers come from there. Sanitizers know
// nothing of code that is generated at run time, as oneDNN's kernels are.
#include <cstdint>

namespace assay::testing {

/// From now on every block of posix_memalign (of any thread) is filled with bytes 0xff, which are
/// NaN in every type, ends at a page that nobody may touch, rounded up to its alignment, and begins
/// behind one. Off, as at the start, all is as in the C library. A build with sanitizers, which
/// bring an allocator of their own, has none of this, and returns false.
bool guard_memory(bool on);

/// Blocks that were written beside their ends since the last call: those in use, and those that
/// were freed meanwhile. No other thread may use posix_memalign or free at the same time.
[[nodiscard]] std::uint64_t damaged_blocks();

}  // namespace assay::testing
