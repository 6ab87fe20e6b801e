#include "serve/worker_pool.h"

#include <utility>

namespace assay::serve {

WorkerPool::WorkerPool(unsigned threads, std::size_t max_waiting) : max_waiting_(max_waiting) {
  for (unsigned i = 0; i < threads; ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

WorkerPool::~WorkerPool() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

bool WorkerPool::post(std::function<void()> task) {
  const std::scoped_lock lock(lock_);
  if (waiting_.size() >= max_waiting_) return false;
  waiting_.push_back(std::move(task));
  changed_.notify_one();
  return true;
}

void WorkerPool::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::function<void()> task;
    {
      std::unique_lock lock(lock_);
      if (!changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) return;
      task = std::move(waiting_.front());
      waiting_.pop_front();
    }
    task();
  }
}

}  // namespace assay::serve
