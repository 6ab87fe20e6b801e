#include "cloud/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/error.h"

namespace assay::cloud {

void run_parallel(std::size_t count, int threads, const std::stop_token& stop,
                  const std::function<void(std::size_t, const std::stop_token&)>& job) {
  std::stop_source inner;
  const std::stop_callback forward(stop, [&] { inner.request_stop(); });
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr first;
  const auto work = [&] {
    for (std::size_t i = next++; i < count && !inner.stop_requested(); i = next++) {
      try {
        job(i, inner.get_token());
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
        inner.request_stop();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t wanted = std::min(count, static_cast<std::size_t>(std::max(threads, 1)));
    for (std::size_t i = 1; i < wanted; ++i) others.emplace_back(work);
    work();
  }
  if (first) std::rethrow_exception(first);
  if (stop.stop_requested()) throw Error(ErrorKind::environment, "the transfer was cancelled");
}

}  // namespace assay::cloud
