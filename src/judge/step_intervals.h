#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "judge/evaluations.h"
#include "judge/round_context.h"

namespace assay::judge {

/// The time from one STEP_END of a process to its next, without evaluations and checkpoints.
struct StepInterval {
  double seconds = 0;
  std::uint32_t step = 0;   ///< place in StepTrack::steps of the STEP_END that ends it
  std::uint32_t steps = 1;  ///< that were done in it
  double paused = 0;        ///< seconds of evaluations and checkpoints that were left out
  [[nodiscard]] double per_step() const noexcept { return seconds / steps; }
};

/// Those of a track after the case's warm-up steps, in order. Left out are intervals over a
/// restart, a hole in the log or a clock that stepped back, and those in which an evaluation ended
/// that does not say how long it took.
[[nodiscard]] std::vector<StepInterval> step_intervals(const RoundContext& round,
                                                       const RankEvidence& rank,
                                                       const StepTrack& track,
                                                       const EvaluationWindows& pauses);

/// Steps that were done, by their numbers.
[[nodiscard]] std::int64_t steps_of(const StepTrack& track);

/// Those of them that were seen to end: STEP_ENDs in the log, or that the agent saw go by where the
/// log was not kept as a whole. The others are known by the numbers of their neighbors alone.
[[nodiscard]] std::int64_t steps_seen(const RankEvidence& rank, const StepTrack& track);

/// The evaluations and checkpoints of the ranks: time that is not step time. Where only some ranks
/// log theirs, the others were waiting for them.
class RoundPauses {
 public:
  explicit RoundPauses(const RoundContext& round);
  /// Of a rank by its place in the evidence.
  [[nodiscard]] const EvaluationWindows& of(std::size_t i) const {
    return own_[i] ? *own_[i] : of_silent_;
  }

 private:
  std::vector<std::optional<EvaluationWindows>> own_;
  EvaluationWindows of_silent_;  // of ranks that log none: those of the first ranks that do
};

/// The ranks whose steps together hold every sample once, by their place in the evidence.
[[nodiscard]] std::vector<std::size_t> sample_sources(const RoundContext& round);
/// The same of tokens.
[[nodiscard]] std::vector<std::size_t> token_sources(const RoundContext& round);

}  // namespace assay::judge
