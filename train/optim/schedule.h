#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::train {

/// The learning rate of every step, counted from 1. During the first `warmup_steps` it rises
/// linearly and reaches `base` in the last of them; over the remaining steps it follows the shape.
struct ScheduleOptions {
  std::string shape = "cosine";  ///< constant, cosine, poly or step
  double base = 0.1;
  double final_fraction = 0;  ///< fraction of base at the end of cosine and poly
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;    ///< afterwards the rate stays constant
  double power = 1;                ///< poly
  std::vector<double> milestones;  ///< step: fractions of total_steps, ascending
  double gamma = 0.1;              ///< step: factor at each milestone
};

[[nodiscard]] const std::vector<std::string>& schedule_shapes();

/// step counts from 1.
[[nodiscard]] double learning_rate(const ScheduleOptions& options, std::int64_t step);

}  // namespace assay::train
