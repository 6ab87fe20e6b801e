#include "judge/evaluations.h"

#include <algorithm>

#include "judge/round_context.h"
#include "judge/stamp.h"

namespace assay::judge {

namespace {

/// Adds what a track's steps trained before each of `starts`, which are in order.
void add_trained(const RoundContext& round, const RankEvidence& rank, const StepTrack& track,
                 bool by_samples, const std::vector<double>& starts, std::vector<double>& before,
                 double& whole) {
  const RankClock clock = round.timeline.clock(rank);
  double sum = 0;
  std::size_t next = 0;
  for (const Step& step : track.steps) {
    const auto at = clock.at(step.at);
    while (at && next < starts.size() && *at > starts[next] + kStampResolution_s)
      before[next++] += sum;
    sum += by_samples ? step.samples : static_cast<double>(step.count);
  }
  for (; next < starts.size(); ++next) before[next] += sum;
  whole += sum;
}

}  // namespace

void compute_evaluations(RoundContext& round) {
  const auto& ranks = round.evidence.ranks;
  for (const RankEvidence& rank : ranks) {
    const auto found = std::ranges::find(rank.log.finished_values, "train_samples",
                                         &std::pair<std::string, double>::first);
    if (found == rank.log.finished_values.end() || found->second <= 0) continue;
    round.result.train_samples = found->second;
    break;
  }
  const auto logs = std::ranges::find_if(
      ranks, [](const RankEvidence& rank) { return !rank.log.evaluations.empty(); });
  if (logs == ranks.end()) return;
  std::vector<EvaluationResult>& out = round.result.evaluations;
  for (const Evaluation& evaluation : logs->log.evaluations) {
    const auto end = round.timeline.at(*logs, evaluation.at);
    if (!end) continue;
    EvaluationResult next;
    next.end_s = *end;
    next.start_s = *end - evaluation.seconds.value_or(0);
    next.values = evaluation.values;
    out.push_back(std::move(next));
  }
  std::ranges::stable_sort(out, {}, &EvaluationResult::start_s);
  add_quality_series(round);

  std::vector<double> starts;
  for (const EvaluationResult& evaluation : out) starts.push_back(evaluation.start_s);
  bool by_samples = true;
  bool merged = false;
  for (const RankEvidence& rank : ranks) {
    by_samples = by_samples && (rank.log.tracks.empty() || rank.log.samples.known);
    for (const StepTrack& track : rank.log.tracks) merged = merged || track.merged > 1;
  }
  std::vector<double> before(out.size(), 0);
  double whole = 0;
  for (const RankEvidence& rank : ranks)
    for (const StepTrack& track : rank.log.tracks)
      add_trained(round, rank, track, by_samples, starts, before, whole);
  if (whole <= 0) return;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].trained = before[i] / whole;
    out[i].trained_exactly = by_samples && !merged;
  }
}

}  // namespace assay::judge
