#pragma once

#include <cstdint>

#include "train/data/loader.h"

namespace assay::train::data {

/// What the input pipeline alone can do.
struct PipelineRate {
  std::int64_t batches = 0;
  std::int64_t samples = 0;
  std::int64_t bytes = 0;  ///< of the batches, as they go to the device
  double seconds = 0;      ///< from the first next() to the last
  double waited = 0;       ///< seconds of them spent waiting in next()
  std::int64_t damaged = 0;

  [[nodiscard]] double samples_per_second() const noexcept {
    return seconds > 0 ? static_cast<double>(samples) / seconds : 0;
  }
  [[nodiscard]] double bytes_per_second() const noexcept {
    return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
  }
  /// 0…1; near 1 when nothing but the pipeline takes time.
  [[nodiscard]] double wait_share() const noexcept { return seconds > 0 ? waited / seconds : 0; }
};

/// Takes `batches` batches (0: one epoch) and gives each back at once. `consume` seconds are
/// spent on every batch before it is given back, to see whether the pipeline hides behind a
/// training step of that length.
template <class Batch>
[[nodiscard]] PipelineRate measure_pipeline(Loader<Batch>& loader, std::int64_t batches = 0,
                                            double consume = 0);

extern template PipelineRate measure_pipeline(Loader<ImageBatch>&, std::int64_t, double);
extern template PipelineRate measure_pipeline(Loader<TextBatch>&, std::int64_t, double);

}  // namespace assay::train::data
