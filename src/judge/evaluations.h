#pragma once

#include <vector>

#include "judge/evidence.h"
#include "judge/timeline.h"
#include "plan/plan.h"

namespace assay::judge {

struct RoundContext;

/// The evaluations of one rank inside the training, on the round's axis.
struct EvaluationWindows {
  std::vector<Window> windows;  ///< those with a known duration, in order, not overlapping
  std::vector<double> untimed;  ///< ends of the others
  double sum = 0;               ///< of all `time` values
  double covered = 0;           ///< length of `windows`

  /// The part of [a, b] that was evaluation; nothing if an untimed evaluation ended in it.
  [[nodiscard]] std::optional<double> within(double a, double b) const;
};

[[nodiscard]] EvaluationWindows evaluation_windows(const Timeline& timeline,
                                                   const RankEvidence& rank, const Window& train);

/// The checkpoints (PHASE) of one rank inside the training, on the round's axis.
[[nodiscard]] std::vector<Window> checkpoint_windows(const Timeline& timeline,
                                                     const RankEvidence& rank, const Window& train);
/// Sorts windows by their start and merges overlapping ones.
void join_overlapping(std::vector<Window>& windows);

/// Whether a metric of that name in EVALUATE or FINISHED is the target's: the same name, with or
/// without "eval_", "final_", "val_", "test_" or "best_" in front, case ignored.
[[nodiscard]] bool is_target_metric(std::string_view key, std::string_view target);

[[nodiscard]] bool meets(const plan::Target& target, double value);

/// The qualities of the evaluations over time, with the target and the best reachable value of
/// FINISHED as levels; after the evaluations are known.
void add_quality_series(RoundContext& round);

/// Qualities, convergence and time to target; the fact `converged` when there is a target.
void compute_quality(RoundContext& round);

}  // namespace assay::judge
