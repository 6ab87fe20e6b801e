#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace assay {

/// Calls `job(index, stop)` for 0 … count-1 on at most `threads` threads (0: one per processor),
/// including this one, and waits for all. After the first exception, or when `stop` is requested,
/// no more jobs start and the running ones are asked to stop. That exception is then rethrown; a
/// stop without one throws Cancelled.
void run_parallel(std::size_t count, int threads, const std::stop_token& stop,
                  const std::function<void(std::size_t, const std::stop_token&)>& job);

}  // namespace assay
