#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/fair_queue.h"

namespace assay::serve {

/// Threads for work that would block the I/O thread. Tasks answer for their own failures: what one
/// throws is written to the log, and the thread goes on.
class WorkerPool {
 public:
  WorkerPool(unsigned threads, std::size_t max_waiting);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  /// Finishes the running tasks, and drops the waiting ones.
  ~WorkerPool();

  /// Tasks of different keys take turns. False when too many wait, in all or of that key.
  [[nodiscard]] bool post(const std::string& key, std::function<void()> task);

 private:
  void work(const std::stop_token& stop);

  std::mutex lock_;
  std::condition_variable_any changed_;
  FairQueue<std::function<void()>> waiting_;
  std::vector<std::jthread> threads_;
};

}  // namespace assay::serve
