#pragma once

#include <cstdint>
#include <vector>

namespace assay::train {

/// What a stage of a pipeline does next with a part of the batch.
struct PipelineStep {
  enum class Kind : std::uint8_t { forward, backward };
  Kind kind = Kind::forward;
  std::int64_t part = 0;
  bool operator==(const PipelineStep&) const = default;
};

/// The order of a stage's work, one forward and one backward in turn (1F1B): a stage begins as many
/// parts as there are stages from it to the end, so that no stage keeps more than that, and then
/// ends one for each that it begins. One stage ends each part before it begins the next.
[[nodiscard]] std::vector<PipelineStep> one_forward_one_backward(std::int64_t stages,
                                                                 std::int64_t stage,
                                                                 std::int64_t parts);

}  // namespace assay::train
