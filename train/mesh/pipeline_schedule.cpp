#include "train/mesh/pipeline_schedule.h"

#include <algorithm>

namespace assay::train {

std::vector<PipelineStep> one_forward_one_backward(std::int64_t stages, std::int64_t stage,
                                                   std::int64_t parts) {
  using enum PipelineStep::Kind;
  const std::int64_t ahead = std::min(parts, stages - stage);
  std::vector<PipelineStep> steps;
  steps.reserve(static_cast<std::size_t>(2 * parts));
  for (std::int64_t part = 0; part < ahead; ++part) steps.push_back({forward, part});
  for (std::int64_t part = 0; part < parts; ++part) {
    steps.push_back({backward, part});
    if (part + ahead < parts) steps.push_back({forward, part + ahead});
  }
  return steps;
}

}  // namespace assay::train
