#pragma once

#include <cstdint>

#include "train/data/loader.h"

namespace assay::train::data {

/// The performance of the input pipeline alone.
struct PipelineRate {
  std::int64_t batches = 0;
  std::int64_t samples = 0;
  std::int64_t bytes = 0;  ///< of the batches, as sent to the device
  double seconds = 0;      ///< from the first next() to the last
  double waited = 0;       ///< the part of them spent waiting in next()
  std::int64_t damaged = 0;

  [[nodiscard]] double samples_per_second() const noexcept {
    return seconds > 0 ? static_cast<double>(samples) / seconds : 0;
  }
  [[nodiscard]] double bytes_per_second() const noexcept {
    return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
  }
  /// 0…1; near 1 if only the pipeline takes time.
  [[nodiscard]] double wait_share() const noexcept { return seconds > 0 ? waited / seconds : 0; }
};

/// Takes `batches` batches (0: one epoch) and returns each at once. Spends `consume` seconds on
/// every batch before returning it, to see whether the pipeline hides behind a training step of
/// that length.
template <class Batch>
[[nodiscard]] PipelineRate measure_pipeline(Loader<Batch>& loader, std::int64_t batches = 0,
                                            double consume = 0);

extern template PipelineRate measure_pipeline(Loader<ImageBatch>&, std::int64_t, double);
extern template PipelineRate measure_pipeline(Loader<TextBatch>&, std::int64_t, double);

}  // namespace assay::train::data
