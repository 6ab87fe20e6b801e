#include "client/deadline.h"

#include <condition_variable>
#include <mutex>

namespace assay::client {

Deadline::Deadline(Nanoseconds limit, const std::stop_token& outer)
    : forward_(outer, Forward{source_}) {
  if (limit.count() == 0) return;
  timer_ = std::jthread([this, limit](const std::stop_token& done) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    (void)wake.wait_for(lock, done, limit, [] { return false; });
    if (done.stop_requested()) return;
    over_ = true;
    source_.request_stop();
  });
}

}  // namespace assay::client
