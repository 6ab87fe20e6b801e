#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "train/planner/training_plan.h"

namespace assay::train::planner {

/// What was asked and what was found, to be shown.
struct PlanReport {
  std::string model;  ///< "llama-70b"
  TrainingWork work;
  Cluster cluster;
  std::int64_t devices = 0;
  std::vector<Plan> plans;     ///< the best first; not empty
  std::int64_t would_fit = 0;  ///< devices, when nothing fits; 0: no number does
  bool shorter_fits = false;   ///< when nothing fits: some shorter sequence would
};

[[nodiscard]] std::string to_text(const PlanReport& report);
[[nodiscard]] Json to_json(const PlanReport& report);

}  // namespace assay::train::planner
