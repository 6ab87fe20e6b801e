#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace assay::serve {

/// Threads for work that would block the I/O thread. Tasks must not throw.
class WorkerPool {
 public:
  WorkerPool(unsigned threads, std::size_t max_waiting);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  /// Finishes the running tasks, and drops the waiting ones.
  ~WorkerPool();

  /// False when too many wait.
  [[nodiscard]] bool post(std::function<void()> task);

 private:
  void work(const std::stop_token& stop);

  std::size_t max_waiting_;
  std::mutex lock_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::jthread> threads_;
};

}  // namespace assay::serve
