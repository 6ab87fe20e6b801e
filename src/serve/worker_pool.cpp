#include "serve/worker_pool.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "serve/log.h"

namespace assay::serve {

WorkerPool::WorkerPool(unsigned threads, std::size_t max_waiting)
    : waiting_(max_waiting, (max_waiting + 3) / 4) {
  for (unsigned i = 0; i < threads; ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

WorkerPool::~WorkerPool() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

bool WorkerPool::post(const std::string& key, std::function<void()> task) {
  const std::scoped_lock lock(lock_);
  if (!waiting_.push(key, std::move(task))) return false;
  changed_.notify_one();
  return true;
}

void WorkerPool::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::function<void()> task;
    {
      std::unique_lock lock(lock_);
      if (!changed_.wait(lock, stop, [&] { return !waiting_.empty(); })) return;
      task = waiting_.pop();
    }
    try {
      task();
    } catch (const std::exception& error) {
      log_error(fmt::format("a request was not answered: {}", error.what()));
    }
  }
}

}  // namespace assay::serve
