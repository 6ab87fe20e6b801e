#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/cancelled.h"

namespace assay {

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
    if (threads <= 0) threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const std::size_t wanted = std::min(count, static_cast<std::size_t>(threads));
    for (std::size_t i = 1; i < wanted; ++i) others.emplace_back(work);
    work();
  }
  if (first) std::rethrow_exception(first);
  if (stop.stop_requested()) throw Cancelled("the work was cancelled");
}

}  // namespace assay
