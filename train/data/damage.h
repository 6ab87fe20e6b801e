#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace assay::train::data {

/// Counts a split's damaged samples. Any thread.
class DamageLog {
 public:
  /// It is an error if more than the fraction `share` of `samples` (but at least one) is damaged.
  DamageLog(std::int64_t samples, double share);

  /// Throws Error of kind environment that names the first ones if there are too many.
  void report(std::int64_t index, const std::string& name, const std::string& reason);
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }

 private:
  std::int64_t samples_;
  std::int64_t limit_;
  std::atomic<std::int64_t> count_{0};
  std::mutex mutex_;
  std::set<std::int64_t> seen_;
  std::vector<std::string> first_;  // in the error's wording
};

}  // namespace assay::train::data
