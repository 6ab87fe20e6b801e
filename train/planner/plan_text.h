#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "train/planner/training_plan.h"

namespace assay::train::planner {

/// A request and its result, for display.
struct PlanReport {
  std::string model;  ///< "llama-70b"
  TrainingWork work;
  Cluster cluster;
  std::int64_t devices = 0;
  std::vector<Plan> plans;     ///< best first; not empty
  std::int64_t would_fit = 0;  ///< devices needed if nothing fits; 0: no number suffices
  bool shorter_fits = false;   ///< if nothing fits: some shorter sequence would
};

[[nodiscard]] std::string to_text(const PlanReport& report);
[[nodiscard]] Json to_json(const PlanReport& report);

}  // namespace assay::train::planner
