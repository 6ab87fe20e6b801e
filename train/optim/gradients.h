#pragma once

#include "train/optim/flat_parameters.h"

namespace assay::train {

/// The Euclidean norm of all gradients, as a zero-dimensional tensor on their device. Reading it
/// waits for the device.
[[nodiscard]] torch::Tensor gradient_norm(const FlatParameters& parameters);

/// min(1, limit / norm) times `scale`: the factor that unscales gradients and limits their norm to
/// `limit`. Stays on the device. `norm` is that before `scale`. A limit of 0 means no clipping.
[[nodiscard]] torch::Tensor clip_factor(const torch::Tensor& norm, double limit, double scale);

/// Dynamic loss scaling for fp16: halves when gradients overflow (that step is skipped), doubles
/// after `interval` good steps.
class LossScaler {
 public:
  explicit LossScaler(double initial = 65536, std::int64_t interval = 2000)
      : scale_(initial), interval_(interval) {}

  [[nodiscard]] double scale() const noexcept { return scale_; }
  /// Reports a step; returns whether its gradients are usable.
  bool update(double norm);
  [[nodiscard]] std::int64_t good_steps() const noexcept { return good_; }
  [[nodiscard]] std::int64_t skipped() const noexcept { return skipped_; }
  void restore(double scale, std::int64_t good, std::int64_t skipped);

 private:
  double scale_;
  std::int64_t interval_;
  std::int64_t good_ = 0;
  std::int64_t skipped_ = 0;
};

/// An exponential moving average of the parameters, which replaces them in evaluation.
class MovingAverage {
 public:
  MovingAverage(const FlatParameters& parameters, double decay);
  void update();
  /// Swaps averages and parameters; doing it twice has no effect.
  void swap();
  [[nodiscard]] const torch::Tensor& average() const noexcept { return average_; }

 private:
  torch::Tensor values_;
  torch::Tensor average_;
  double decay_;
};

}  // namespace assay::train
