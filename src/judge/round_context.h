#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/evidence.h"
#include "judge/metric_set.h"
#include "judge/timeline.h"
#include "plan/plan.h"

namespace assay::judge {

/// What the parts of a round's computation share. Each part reads the evidence and adds to
/// `metrics`, `facts` and `result`.
struct RoundContext {
  const plan::CasePlan& plan;
  const RoundEvidence& evidence;
  Timeline timeline;
  MetricSet metrics;
  Facts facts;
  RoundResult result;
  std::optional<Window> alive;  ///< first exec to last exit (or the last thing known of a rank)
  std::optional<Window> train;
  /// Of numbers that rest on ranks' clocks: measured where these were held against the agents',
  /// else claimed. Set by compute_plausibility.
  Origin clock_origin = Origin::measured;
  Origin train_origin = Origin::measured;  ///< no better than clock_origin
  std::string train_note;
  bool train_from_first_step = false;  ///< the window begins at the end of the first step
  /// From the start of the first steady step to the end of the last, of all ranks (the latest
  /// start, the earliest end); set by compute_steady. Evaluations and stalls may lie in it. Nothing
  /// when there are no steps, they are of several kinds, or no time is common to all ranks.
  std::optional<Window> steady;
  /// Training began again within a rank: no steps are steady, since what passed between the
  /// attempts would be in none of them.
  bool began_again = false;
  double steady_samples = 0;  ///< of all ranks in `steady`, those of stalls included; 0: not known

  RoundContext(const plan::CasePlan& p, const RoundEvidence& e)
      : plan(p), evidence(e), timeline(e) {}

  /// Adds a fact, like state().
  void fact(const std::string& name, double value, std::string detail = {}) {
    state(facts, name, value, std::move(detail));
  }
};

/// Adds "achieved_flops<suffix>" and, where the peak of a device is known, "mfu<suffix>".
void add_flops(RoundContext& round, const std::string& suffix, double flops_per_s, Origin origin,
               const std::string& note);
/// Both notes, or the one that is not empty.
[[nodiscard]] std::string both(const std::string& a, const std::string& b);

inline constexpr std::size_t kSeriesPoints = 600;
inline constexpr std::size_t kSeriesNodes = 16;

/// Whether the times that ranks log, and the qualities, can be. Comes first: it says what the
/// origin of numbers is that are taken from ranks' clocks.
void compute_plausibility(RoundContext& round);
/// The same of a job whose ranks no agent saw, against the clocks that did.
void compute_job_times(RoundContext& round);
/// Windows, e2e, init, train, launch times; phases.
void compute_times(RoundContext& round);
/// The steady steps: their window, throughputs, step time, achieved FLOP/s; stalls. After
/// compute_times.
void compute_steady(RoundContext& round);
/// Samples, tokens, throughputs, flops, quality, target, losses. After compute_steady.
void compute_training(RoundContext& round);
/// The suite's output metrics, and their curves where the log has times.
void compute_outputs(RoundContext& round);
/// Step times, stragglers, the ranks' own numbers; throughput and loss over time.
void compute_steps(RoundContext& round);
/// The evaluations with what was trained before each.
void compute_evaluations(RoundContext& round);
/// Whether the counted samples can come from the data: after the metric `samples` is known.
void compute_sample_counts(RoundContext& round);
/// The round's wall clock in parts: what it was spent on.
void compute_time_shares(RoundContext& round);
/// Energy, power, utilization, memory; throttling, ECC and gaps; their series.
void compute_resources(RoundContext& round);
/// What else used the machines, and whether they were fit to measure on.
void compute_machines(RoundContext& round);
/// The score of an AutoML experiment, and what its rules ask for.
void compute_automl(RoundContext& round);
/// The results that a workload reported with set_result, and the record that ais-bench makes of it.
void compute_ais(RoundContext& round);
/// Whether the ranks' logs are whole and fit together; after compute_steps.
void compute_completeness(RoundContext& round);
/// What was listed and chained against what is there.
void compute_integrity(RoundContext& round);
/// What rules ask for besides: ranks, logs, clocks.
void compute_facts(RoundContext& round);

}  // namespace assay::judge
