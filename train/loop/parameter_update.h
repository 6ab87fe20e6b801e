#pragma once

#include "train/loop/settings.h"
#include "train/mesh/model_share.h"
#include "train/optim/gradients.h"
#include "train/optim/optimizer.h"

namespace assay::train {

/// The schedule of a training of `total_steps` steps, `per_epoch` an epoch: a warm-up given in
/// epochs takes at most half of it, and one given in steps goes before it.
[[nodiscard]] ScheduleOptions schedule_over(const Settings& settings, std::int64_t total_steps,
                                            std::int64_t per_epoch);

/// Turns gradients into new parameters: unscaling (fp16), clipping, the optimizer's step.
class Update {
 public:
  /// All must outlive this.
  /// `shared` may be nullptr: the parameters are all there are.
  Update(const Settings& settings, FlatParameters& parameters, Optimizer& optimizer,
         ModelShare* shared = nullptr)
      : settings_(settings), parameters_(parameters), optimizer_(optimizer), shared_(shared) {}

  /// What the loss has to be multiplied with before backward.
  [[nodiscard]] double loss_scale() const noexcept {
    return settings_.precision == Precision::fp16 ? scaler_.scale() : 1.0;
  }
  /// Gives whether the step counts: with fp16 one whose gradients overflow is left out, and so is
  /// one after which finite() is false.
  bool apply(double rate);
  /// Whether the gradients of the last step were finite, the same on all ranks. Known on the CPU
  /// and when they are clipped; else it is true.
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
