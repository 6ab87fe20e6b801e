#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/evidence.h"
#include "judge/metric_set.h"
#include "judge/timeline.h"
#include "plan/plan.h"

namespace assay::judge {

/// The state shared by the parts of a round's computation. Each part reads the evidence and adds to
/// `metrics`, `facts` and `result`.
struct RoundContext {
  const plan::CasePlan& plan;
  const RoundEvidence& evidence;
  Timeline timeline;
  MetricSet metrics;
  Facts facts;
  RoundResult result;
  std::optional<Window> alive;  ///< first exec to last exit (or the last sign of a rank)
  std::optional<Window> train;
  /// The origin of numbers based on ranks' clocks: measured if these were compared with the agents'
  /// clocks, else claimed. Set by compute_plausibility.
  Origin clock_origin = Origin::measured;
  Origin train_origin = Origin::measured;  ///< at best clock_origin
  std::string train_note;
  bool train_from_first_step = false;  ///< the window begins at the end of the first step
  /// From the start of the first steady step to the end of the last, for all ranks (the latest
  /// start, the earliest end); set by compute_steady. May contain evaluations and stalls. Nothing
  /// when there are no steps, they are of several kinds, or the ranks have no time in common.
  std::optional<Window> steady;
  /// Training restarted within a rank: no steps are then steady, since the time between the
  /// attempts would be in none of them.
  bool began_again = false;

  RoundContext(const plan::CasePlan& p, const RoundEvidence& e)
      : plan(p), evidence(e), timeline(e) {}

  /// Adds a fact, as state() does.
  void fact(const std::string& name, double value, std::string detail = {}) {
    state(facts, name, value, std::move(detail));
  }
};

/// Adds "achieved_flops<suffix>" and, if a device's peak is known, "mfu<suffix>".
void add_flops(RoundContext& round, const std::string& suffix, double flops_per_s, Origin origin,
               const std::string& note);
/// Joins both notes, leaving out an empty one.
[[nodiscard]] std::string both(const std::string& a, const std::string& b);

inline constexpr std::size_t kSeriesPoints = 600;
inline constexpr std::size_t kSeriesNodes = 16;

/// Checks whether the logged times and qualities are possible. Runs first, because it determines
/// the origin of numbers taken from ranks' clocks.
void compute_plausibility(RoundContext& round);
/// The same for a job whose ranks no agent saw, using the clocks that did.
void compute_job_times(RoundContext& round);
/// Windows, e2e, init, train and launch times; phases.
void compute_times(RoundContext& round);
/// The steady steps: window, throughputs, step time, achieved FLOP/s; stalls. Runs after
/// compute_times.
void compute_steady(RoundContext& round);
/// Samples, tokens, throughputs, flops, quality, target, losses. Runs after compute_steady.
void compute_training(RoundContext& round);
/// The suite's output metrics, with curves if the log has times.
void compute_outputs(RoundContext& round);
/// Step times, stragglers, the ranks' own numbers; throughput and loss over time.
void compute_steps(RoundContext& round);
/// The evaluations, with the amount trained before each.
void compute_evaluations(RoundContext& round);
/// Checks that the counted samples can come from the data; needs the metric `samples`.
void compute_sample_counts(RoundContext& round);
/// Divides the round's wall time into parts.
void compute_time_shares(RoundContext& round);
/// Energy, power, utilization, memory; throttling, ECC and gaps; and their series.
void compute_resources(RoundContext& round);
/// Other use of the machines, and their fitness for measuring.
void compute_machines(RoundContext& round);
/// The score of an AutoML experiment, and the facts for its rules.
void compute_automl(RoundContext& round);
/// The results reported with set_result, and ais-bench's record of them.
void compute_ais(RoundContext& round);
/// Checks whether the ranks' logs are complete and consistent. Runs after compute_steps.
void compute_completeness(RoundContext& round);
/// Compares the listed and chained evidence with the files.
void compute_integrity(RoundContext& round);
/// The remaining facts for rules: ranks, logs, clocks.
void compute_facts(RoundContext& round);

}  // namespace assay::judge
