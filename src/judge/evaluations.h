#pragma once

#include <vector>

#include "judge/evidence.h"
#include "judge/timeline.h"
#include "plan/plan.h"

namespace assay::judge {

struct RoundContext;

/// One rank's evaluations within the training, on the round's axis.
struct EvaluationWindows {
  std::vector<Window> windows;  ///< those with a known duration, in order, without overlaps
  std::vector<double> untimed;  ///< ends of those without one
  double sum = 0;               ///< of all `time` values
  double covered = 0;           ///< total length of `windows`

  /// How much of [a, b] was evaluation; nothing if an untimed evaluation ended in it.
  [[nodiscard]] std::optional<double> within(double a, double b) const;
};

[[nodiscard]] EvaluationWindows evaluation_windows(const Timeline& timeline,
                                                   const RankEvidence& rank, const Window& train);

/// One rank's checkpoints (PHASE) within the training, on the round's axis.
[[nodiscard]] std::vector<Window> checkpoint_windows(const Timeline& timeline,
                                                     const RankEvidence& rank, const Window& train);
/// Sorts windows by their start and joins overlapping ones.
void join_overlapping(std::vector<Window>& windows);

/// Whether a metric in EVALUATE or FINISHED is the target's: it has the same name, ignoring case,
/// possibly prefixed with "eval_", "final_", "val_", "test_" or "best_".
[[nodiscard]] bool is_target_metric(std::string_view key, std::string_view target);

[[nodiscard]] bool meets(const plan::Target& target, double value);

/// Adds the qualities of the evaluations over time, with the target and FINISHED's best reachable
/// value as levels. Call it once the evaluations are known.
void add_quality_series(RoundContext& round);

/// Computes qualities, convergence and time to target; with a target, the fact `converged`.
void compute_quality(RoundContext& round);

}  // namespace assay::judge
