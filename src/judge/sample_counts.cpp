// Checks whether the samples that ranks count can come from their declared training data.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/json_access.h"
#include "core/text.h"
#include "core/units.h"
#include "judge/rank_log.h"
#include "judge/round_context.h"

namespace assay::judge {

namespace {

// The largest of several excesses, with its reason.
struct Excess {
  double samples = 0;
  std::string detail;
  bool known = false;

  void offer(double counted, double most, const std::string& what) {
    known = true;
    if (counted - most <= samples) return;
    samples = counted - most;
    detail = fmt::format("{}: {} are counted, and there can be {} at most", what,
                         format_number(counted), format_number(most));
  }
};

// A number from a configuration that the program applies key by key; how a user's command uses its
// configuration is unknown.
std::optional<double> applied_number(const RoundContext& round, const char* key) {
  if (round.plan.config_use != plan::ConfigUse::applied) return std::nullopt;
  const auto value = number_at(round.plan.config, key);
  return value && *value > 0 && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<double> reported(const RankEvidence& rank, std::string_view name) {
  for (const auto& [key, value] : rank.log.finished_values)
    if (key == name && std::isfinite(value) && value > 0) return value;
  return std::nullopt;
}

// Samples in one rank's step, for a data loader that fills every batch except perhaps the last.
std::optional<double> step_of_rank(const RoundContext& round) {
  const auto batch = applied_number(round, "batch_size");
  if (!batch) return std::nullopt;
  return *batch * applied_number(round, "accumulation").value_or(1);
}

// The mean of the logged steps, if the configuration does not tell.
double step_of_all(const RoundContext& round, std::optional<double> configured) {
  if (configured) return *configured * round.plan.world_size();
  double sum = 0;
  for (const RankEvidence& rank : round.evidence.ranks) {
    const auto steps = static_cast<double>(rank.log.audit.step_ends);
    const Total& samples = rank.log.samples.known ? rank.log.samples : rank.log.global_samples;
    if (!samples.known || steps == 0) continue;
    sum = rank.log.samples.known ? sum + samples.sum / steps : std::max(sum, samples.sum / steps);
  }
  return sum;
}

}  // namespace

void compute_sample_counts(RoundContext& round) {
  if (round.plan.automl) return;  // checked by its journal and the workers' logs
  const auto& ranks = round.evidence.ranks;
  const auto configured = step_of_rank(round);
  Excess excess;
  if (configured)
    for (const RankEvidence& rank : ranks)
      if (rank.log.samples.known)
        excess.offer(
            rank.log.samples.sum, static_cast<double>(rank.log.audit.step_ends) * *configured,
            fmt::format("{} of {} samples in rank {}", counted(rank.log.audit.step_ends, "step"),
                        format_number(*configured), rank.rank));

  const double step = step_of_all(round, configured);
  std::optional<double> set;
  for (const RankEvidence& rank : ranks) {
    const auto own = reported(rank, "train_samples");
    if (!own) continue;
    if (set)
      excess.offer(
          std::max(*own, *set), std::min(*own, *set),
          fmt::format("train_samples, which rank {} does not report as the others do", rank.rank));
    else
      set = own;
    // Ranks may pad their shares to whole batches, by at most one global step.
    if (const auto size = applied_number(round, "train_size"))
      excess.offer(*own, *size + step, "train_samples of a set of train_size");
  }
  const bool again =
      std::ranges::any_of(ranks, [](const RankEvidence& rank) { return rank.log.restarts > 0; });
  std::optional<double> epochs = applied_number(round, "epochs");
  for (const RankEvidence& rank : ranks)
    if (!epochs) epochs = reported(rank, "epochs");
  const auto samples = round.metrics.get("samples");
  // A restarted training counts repeated samples twice.
  if (set && epochs && samples && !again)
    excess.offer(
        *samples, *epochs * std::max(*set, step) + step,
        fmt::format("{} epochs of {} samples", format_number(*epochs), format_number(*set)));
  if (excess.known) round.fact("samples_impossible", excess.samples, excess.detail);
}

}  // namespace assay::judge
