#include "train/loop/parameter_update.h"

#include <algorithm>
#include <cmath>

namespace assay::train {

ScheduleOptions schedule_over(const Settings& settings, std::int64_t total_steps,
                              std::int64_t per_epoch) {
  ScheduleOptions schedule = settings.schedule;
  schedule.total_steps = total_steps;
  if (schedule.warmup_steps == 0 && settings.warmup_epochs > 0)
    schedule.warmup_steps = std::min<std::int64_t>(
        total_steps / 2,
        static_cast<std::int64_t>(settings.warmup_epochs * static_cast<double>(per_epoch)));
  return schedule;
}

torch::Tensor Update::norm() {
  return shared_ == nullptr ? gradient_norm(parameters_) : shared_->gradient_norm();
}

bool Update::apply(double rate) {
  torch::Tensor factor;
  if (settings_.precision == Precision::fp16) {
    const double scale = scaler_.scale();
    const torch::Tensor before = norm();
    if (!scaler_.update(before.item<double>())) return false;
    factor = clip_factor(before, settings_.clip_norm, 1 / scale);
  } else if (settings_.clip_norm > 0) {
    const torch::Tensor before = norm();
    // Reading it from a device would require waiting.
    finite_ = !before.is_cpu() || std::isfinite(before.item<double>());
    if (!finite_) return false;  // unchanged parameters show where it began
    factor = clip_factor(before, settings_.clip_norm, 1);
  }
  optimizer_.step(rate, factor);
  return true;
}

}  // namespace assay::train
