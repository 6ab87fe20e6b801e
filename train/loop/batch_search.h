#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace assay::train {

/// What a trial of one batch size took.
struct BatchTrial {
  double seconds = 0;       ///< of one forward and backward
  double memory_share = 0;  ///< of the device's memory, at most
};

/// Tries so many rows; nothing: they did not fit.
using TryBatch = std::function<std::optional<BatchTrial>(std::int64_t rows)>;

struct BatchLimits {
  std::int64_t first = 32;      ///< where the search begins
  std::int64_t most = 1 << 16;  ///< what the data hold
  /// Of the device's memory: the rest is for what a training needs besides (graphs, evaluations,
  /// collectives).
  double memory_share = 0.8;
  double gain = 0.02;  ///< in samples per second, for which a doubling is worth its memory
  double seconds = 6;  ///< after which nothing larger is tried
};

struct BatchChoice {
  std::int64_t rows = 1;
  std::string why;  ///< why it is no larger, for the log
};

/// Doubles the rows as long as they fit and gain; halves them until they fit at the beginning. 1
/// when nothing fits. `clock` gives seconds, for `limits.seconds`. Pure but for what it calls.
[[nodiscard]] BatchChoice search_batch(const TryBatch& try_batch, const BatchLimits& limits,
                                       const std::function<double()>& clock);

}  // namespace assay::train
