#pragma once

#include "train/optim/flat_parameters.h"

namespace assay::train {

/// The Euclidean norm of all gradients, a tensor without dimensions on their device. Reading it
/// waits for the device.
[[nodiscard]] torch::Tensor gradient_norm(const FlatParameters& parameters);

/// min(1, limit / norm), times `scale`: what gradients have to be multiplied with so that they are
/// unscaled and their norm is at most `limit`. Stays on the device. `norm` is of the gradients
/// before `scale`. limit 0: no clipping.
[[nodiscard]] torch::Tensor clip_factor(const torch::Tensor& norm, double limit, double scale);

/// Dynamic loss scaling for fp16: halves when gradients overflow (the step is then left out),
/// doubles after `interval` good steps.
class LossScaler {
 public:
  explicit LossScaler(double initial = 65536, std::int64_t interval = 2000)
      : scale_(initial), interval_(interval) {}

  [[nodiscard]] double scale() const noexcept { return scale_; }
  /// Reports a step; gives whether its gradients are usable.
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

/// An exponential moving average of the parameters, used in evaluation instead of them.
class MovingAverage {
 public:
  MovingAverage(const FlatParameters& parameters, double decay);
  void update();
  /// Exchanges averages and parameters; twice is nothing.
  void swap();
  [[nodiscard]] const torch::Tensor& average() const noexcept { return average_; }

 private:
  torch::Tensor values_;
  torch::Tensor average_;
  double decay_;
};

}  // namespace assay::train
