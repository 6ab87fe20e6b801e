#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/time.h"
#include "launch/cloud/retry_while_unreachable.h"

namespace assay::launch {

/// Pure: what all that comes before a job is there may take, tries and pauses included: what the
/// suite allows (`start` of the launcher), a quarter of a second for every file, and as long as
/// their bytes need at 256 KiB/s.
[[nodiscard]] Nanoseconds start_limit(Nanoseconds allowed, std::size_t files, std::uint64_t bytes);

/// The clock of such a start: requests that each have an answer in time must not add up beyond it.
/// Pure.
class StartClock {
 public:
  /// `key` is that of `allowed` in the suite, for people.
  StartClock(std::int64_t begin_ns, Nanoseconds allowed, std::string key)
      : allowed_(allowed), key_(std::move(key)), begin_ns_(begin_ns) {}

  /// These are to be uploaded, too.
  void add(std::size_t files, std::uint64_t bytes);

  [[nodiscard]] std::int64_t end_ns() const;  ///< on the clock of `begin_ns`
  /// To be thrown when the time is over: what was being waited for, how long, and what to do.
  [[nodiscard]] Error over(const OutOfTime& silence) const;

 private:
  Nanoseconds allowed_;
  std::string key_;
  std::int64_t begin_ns_;
  std::size_t files_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace assay::launch
