#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include "jobs/job_store.h"

namespace assay::platform {

/// Connections to the file of jobs for those who only read: they wait neither for each other nor
/// for who writes, and see all that was written before. Thread-safe.
class JobReaders {
 public:
  explicit JobReaders(std::filesystem::path file) : file_(std::move(file)) {}

  template <class F>
  auto read(F&& f) {
    const Lease lease(*this);
    return f(*lease.store);
  }

 private:
  struct Lease {
    explicit Lease(JobReaders& from) : readers(from) {
      const std::scoped_lock lock(readers.mutex_);
      if (!readers.free_.empty()) {
        store = std::move(readers.free_.back());
        readers.free_.pop_back();
      }
      if (store == nullptr) store = std::make_unique<jobs::JobStore>(readers.file_);
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      const std::scoped_lock lock(readers.mutex_);
      readers.free_.push_back(std::move(store));
    }
    JobReaders& readers;
    std::unique_ptr<jobs::JobStore> store;
  };

  std::filesystem::path file_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<jobs::JobStore>> free_;
};

}  // namespace assay::platform
