#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace assay::cloud {

/// Calls `job(index, stop)` for 0 … count-1 on at most `threads` threads and waits for all. After
/// the first exception, or when `stop` is requested, no more are started and the running ones are
/// asked to stop; that exception is then rethrown.
void run_parallel(std::size_t count, int threads, const std::stop_token& stop,
                  const std::function<void(std::size_t, const std::stop_token&)>& job);

}  // namespace assay::cloud
