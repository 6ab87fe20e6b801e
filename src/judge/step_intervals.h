#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "judge/evaluations.h"
#include "judge/round_context.h"

namespace assay::judge {

/// The time from one STEP_END of a process to the next, without evaluations and checkpoints.
struct StepInterval {
  double seconds = 0;
  std::uint32_t step = 0;   ///< index in StepTrack::steps of its final STEP_END
  std::uint32_t steps = 1;  ///< steps done in it
  double paused = 0;        ///< seconds left out for evaluations and checkpoints
  [[nodiscard]] double per_step() const noexcept { return seconds / steps; }
};

/// The intervals of a track after the case's warm-up steps, in order. Excludes intervals across a
/// restart, a hole in the log or a backward clock step, and those in which an evaluation of unknown
/// duration ended.
[[nodiscard]] std::vector<StepInterval> step_intervals(const RoundContext& round,
                                                       const RankEvidence& rank,
                                                       const StepTrack& track,
                                                       const EvaluationWindows& pauses);

/// The number of steps done, according to their numbers.
[[nodiscard]] std::int64_t steps_of(const StepTrack& track);

/// How many of those were seen to end: STEP_ENDs in the log, or seen by the agent if the log was
/// not kept completely. The others are known only from their neighbors' numbers.
[[nodiscard]] std::int64_t steps_seen(const RankEvidence& rank, const StepTrack& track);

/// The ranks' evaluations and checkpoints: time that is not step time. If only some ranks log
/// theirs, the others were waiting for them.
class RoundPauses {
 public:
  explicit RoundPauses(const RoundContext& round);
  /// The pauses of the rank at index `i` of the evidence.
  [[nodiscard]] const EvaluationWindows& of(std::size_t i) const {
    return own_[i] ? *own_[i] : of_silent_;
  }

 private:
  std::vector<std::optional<EvaluationWindows>> own_;
  EvaluationWindows of_silent_;  // for ranks that log none: those of the first rank that does
};

/// The ranks, by index in the evidence, whose steps together contain every sample once.
[[nodiscard]] std::vector<std::size_t> sample_sources(const RoundContext& round);
/// The same for tokens.
[[nodiscard]] std::vector<std::size_t> token_sources(const RoundContext& round);

}  // namespace assay::judge
