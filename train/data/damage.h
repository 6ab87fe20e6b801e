#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace assay::train::data {

/// Counts the damaged samples of a split. Any thread.
class DamageLog {
 public:
  /// More than `share` of `samples` (but at least one) damaged samples are an error.
  DamageLog(std::int64_t samples, double share);

  /// Throws Error of kind environment that names the first of them when there are too many.
  void report(std::int64_t index, const std::string& name, const std::string& reason);
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }

 private:
  std::int64_t samples_;
  std::int64_t limit_;
  std::atomic<std::int64_t> count_{0};
  std::mutex mutex_;
  std::set<std::int64_t> seen_;
  std::vector<std::string> first_;  // as the error will show them
};

}  // namespace assay::train::data
