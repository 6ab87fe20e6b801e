#pragma once

#include <cstdint>
#include <vector>

namespace assay::train {

/// A pipeline stage's next action for a part of the batch.
struct PipelineStep {
  enum class Kind : std::uint8_t { forward, backward };
  Kind kind = Kind::forward;
  std::int64_t part = 0;
  bool operator==(const PipelineStep&) const = default;
};

/// The order of a stage's work, alternating forward and backward (1F1B): a stage begins as many
/// parts as there are stages from it to the end, so that no stage keeps more, and then completes
/// one for each that it begins. A single stage completes each part before beginning the next.
[[nodiscard]] std::vector<PipelineStep> one_forward_one_backward(std::int64_t stages,
                                                                 std::int64_t stage,
                                                                 std::int64_t parts);

}  // namespace assay::train
