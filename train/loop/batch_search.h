#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace assay::train {

/// The cost of a trial of one batch size.
struct BatchTrial {
  double seconds = 0;       ///< for one forward and backward
  double memory_share = 0;  ///< peak share of the device's memory
};

/// Tries this number of rows; returns nothing if they did not fit.
using TryBatch = std::function<std::optional<BatchTrial>(std::int64_t rows)>;

struct BatchLimits {
  std::int64_t first = 32;      ///< where the search starts
  std::int64_t most = 1 << 16;  ///< what the data provides
  /// Usable share of the device's memory: the rest is for other needs of a training (graphs,
  /// evaluations, collectives).
  double memory_share = 0.8;
  double gain = 0.02;  ///< in samples per second, that makes a doubling worth its memory
  double seconds = 6;  ///< beyond which nothing larger is tried
};

struct BatchChoice {
  std::int64_t rows = 1;
  std::string why;  ///< why it is not larger, for the log
};

/// Doubles the rows as long as they fit and gain; first halves them until they fit. 1 if nothing
/// fits. `clock` returns seconds, for `limits.seconds`. Pure except for its callbacks.
[[nodiscard]] BatchChoice search_batch(const TryBatch& try_batch, const BatchLimits& limits,
                                       const std::function<double()>& clock);

}  // namespace assay::train
