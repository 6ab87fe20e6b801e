#pragma once

#include "train/loop/settings.h"
#include "train/mesh/model_share.h"
#include "train/optim/gradients.h"
#include "train/optim/optimizer.h"

namespace assay::train {

/// The schedule of a training of `total_steps` steps, `per_epoch` per epoch: a warm-up given in
/// epochs takes at most half of it, and one given in steps takes precedence.
[[nodiscard]] ScheduleOptions schedule_over(const Settings& settings, std::int64_t total_steps,
                                            std::int64_t per_epoch);

/// Turns gradients into new parameters: unscaling (fp16), clipping, the optimizer's step.
class Update {
 public:
  /// All must outlive this. `shared` is nullptr if the parameters are the whole model.
  Update(const Settings& settings, FlatParameters& parameters, Optimizer& optimizer,
         ModelShare* shared = nullptr)
      : settings_(settings), parameters_(parameters), optimizer_(optimizer), shared_(shared) {}

  /// The factor for the loss before backward.
  [[nodiscard]] double loss_scale() const noexcept {
    return settings_.precision == Precision::fp16 ? scaler_.scale() : 1.0;
  }
  /// Returns whether the step counts: with fp16, a step whose gradients overflow is skipped, and so
  /// is one after which finite() is false.
  bool apply(double rate);
  /// Whether the last step's gradients were finite, the same on all ranks. Known on the CPU and
  /// with clipping; otherwise true.
  [[nodiscard]] bool finite() const noexcept { return finite_; }
  [[nodiscard]] LossScaler& scaler() noexcept { return scaler_; }
  [[nodiscard]] const LossScaler& scaler() const noexcept { return scaler_; }

 private:
  [[nodiscard]] torch::Tensor norm();

  const Settings& settings_;
  FlatParameters& parameters_;
  Optimizer& optimizer_;
  ModelShare* shared_;
  LossScaler scaler_;
  bool finite_ = true;
};

}  // namespace assay::train
