#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace assay::serve {

/// Threads for what would hold up the I/O thread. Tasks must not throw.
class WorkerPool {
 public:
  WorkerPool(unsigned threads, std::size_t most_waiting);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  /// Ends what is being done, and drops what waits.
  ~WorkerPool();

  /// False when too many wait.
  [[nodiscard]] bool post(std::function<void()> task);

 private:
  void work(const std::stop_token& stop);

  std::size_t most_waiting_;
  std::mutex lock_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::jthread> threads_;
};

}  // namespace assay::serve
