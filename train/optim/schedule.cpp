#include "train/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace assay::train {

const std::vector<std::string>& schedule_shapes() {
  static const std::vector<std::string> shapes{"constant", "cosine", "poly", "step"};
  return shapes;
}

double learning_rate(const ScheduleOptions& options, std::int64_t step) {
  if (step <= options.warmup_steps)
    return options.base * static_cast<double>(step) / static_cast<double>(options.warmup_steps);
  // 0 for the first step after the warm-up, approaching 1 for the last one.
  const std::int64_t length = std::max<std::int64_t>(1, options.total_steps - options.warmup_steps);
  const double progress = std::min(
      1.0, static_cast<double>(step - 1 - options.warmup_steps) / static_cast<double>(length));
  const double last = options.base * options.final_fraction;
  if (options.shape == "constant") return options.base;
  if (options.shape == "cosine")
    return last + (options.base - last) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
  if (options.shape == "poly")
    return last + (options.base - last) * std::pow(1 - progress, options.power);
  if (options.shape == "step") {
    double rate = options.base;
    for (const double milestone : options.milestones)
      if (static_cast<double>(step - 1) >= milestone * static_cast<double>(options.total_steps))
        rate *= options.gamma;
    return rate;
  }
  throw Error(ErrorKind::internal, "unknown schedule '" + options.shape + "'");
}

}  // namespace assay::train
