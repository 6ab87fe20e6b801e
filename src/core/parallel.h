#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace assay {

/// Calls `job(index, stop)` for 0 … count-1 on at most `threads` threads (0: one a processor), of
/// which this is one, and waits for all. After the first exception, or when `stop` is requested, no
/// more are begun and those that run are asked to stop. That exception is thrown on; without one, a
/// stop is Cancelled.
void run_parallel(std::size_t count, int threads, const std::stop_token& stop,
                  const std::function<void(std::size_t, const std::stop_token&)>& job);

}  // namespace assay
