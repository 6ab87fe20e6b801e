#include "judge/step_intervals.h"

#include <algorithm>

namespace assay::judge {

namespace {

std::vector<std::size_t> sources_of(const RoundContext& round, Total RankLog::*own,
                                    Total RankLog::*global, bool cumulative) {
  const std::vector<RankEvidence>& ranks = round.evidence.ranks;
  std::vector<std::size_t> sources;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if ((ranks[i].log.*own).known) sources.push_back(i);
  if (!sources.empty()) return sources;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if ((ranks[i].log.*global).known || (cumulative && ranks[i].log.trained_last)) return {i};
  return {};
}

bool has_checkpoints(const RankEvidence& rank) {
  return std::ranges::any_of(
      rank.log.phases, [](const LoggedPhase& phase) { return phase.part == TimePart::checkpoint; });
}

void add_checkpoints(const RoundContext& round, const RankEvidence& rank, EvaluationWindows& out) {
  for (const Window& window : checkpoint_windows(round.timeline, rank, *round.train))
    out.windows.push_back(window);
  join_overlapping(out.windows);
}

}  // namespace

std::vector<StepInterval> step_intervals(const RoundContext& round, const RankEvidence& rank,
                                         const StepTrack& track, const EvaluationWindows& pauses) {
  const RankClock clock = round.timeline.clock(rank);
  std::vector<StepInterval> out;
  std::int64_t done = track.steps.empty() ? 0 : track.steps.front().count;
  for (std::size_t i = 1; i < track.steps.size(); ++i) {
    const Step& from = track.steps[i - 1];
    const Step& to = track.steps[i];
    const bool numbered = from.number != Step::kNoNumber && to.number != Step::kNoNumber;
    const std::int64_t between =
        numbered ? std::int64_t{to.number} - from.number : std::int64_t{to.count};
    const std::int64_t before = done;
    done += std::max<std::int64_t>(between, 1);
    if (to.after_break || between <= 0 || before < round.plan.warmup_steps) continue;
    const auto a = clock.at(from.at);
    const auto b = clock.at(to.at);
    if (!a || !b || *b < *a) continue;
    const auto paused = pauses.within(*a, *b);
    if (!paused) continue;
    out.push_back({std::max(0.0, *b - *a - *paused), static_cast<std::uint32_t>(i),
                   static_cast<std::uint32_t>(between), *paused});
  }
  return out;
}

std::int64_t steps_of(const StepTrack& track) {
  if (track.first_number == kNoTime || track.last_number == kNoTime)
    return static_cast<std::int64_t>(track.logged);
  // Numbers from 0; from 1 or logged every `stride` steps; else continued from a checkpoint.
  if (track.first_number == 0) return track.last_number + 1;
  if (track.first_number <= std::max<std::int64_t>(track.stride, 1)) return track.last_number;
  return std::max<std::int64_t>(0, track.last_number - track.first_number + 1);
}

std::int64_t steps_seen(const RankEvidence& rank, const StepTrack& track) {
  std::uint64_t seen = track.logged;
  // The agent saw the steps of all processes that write to the log.
  if (rank.dropped_bytes > 0 && rank.log.tracks.size() == 1)
    seen = std::max(seen, rank.seen_steps.value_or(0));
  const std::int64_t done = steps_of(track);
  return seen < static_cast<std::uint64_t>(done) ? static_cast<std::int64_t>(seen) : done;
}

RoundPauses::RoundPauses(const RoundContext& round) : own_(round.evidence.ranks.size()) {
  if (!round.train) return;
  const std::vector<RankEvidence>& ranks = round.evidence.ranks;
  const auto evaluates = std::ranges::find_if(
      ranks, [](const RankEvidence& rank) { return !rank.log.evaluations.empty(); });
  const auto saves =
      std::ranges::find_if(ranks, [](const RankEvidence& rank) { return has_checkpoints(rank); });
  const auto pauses = [&](const RankEvidence* rank) {
    EvaluationWindows out;
    if (rank != nullptr && !rank->log.evaluations.empty())
      out = evaluation_windows(round.timeline, *rank, *round.train);
    else if (evaluates != ranks.end())
      out = evaluation_windows(round.timeline, *evaluates, *round.train);
    if (rank != nullptr && has_checkpoints(*rank))
      add_checkpoints(round, *rank, out);
    else if (saves != ranks.end())
      add_checkpoints(round, *saves, out);
    return out;
  };
  of_silent_ = pauses(nullptr);
  for (std::size_t i = 0; i < own_.size(); ++i)
    if (!ranks[i].log.evaluations.empty() || has_checkpoints(ranks[i])) own_[i] = pauses(&ranks[i]);
}

std::vector<std::size_t> sample_sources(const RoundContext& round) {
  return sources_of(round, &RankLog::samples, &RankLog::global_samples, true);
}

std::vector<std::size_t> token_sources(const RoundContext& round) {
  return sources_of(round, &RankLog::tokens, &RankLog::global_tokens, false);
}

}  // namespace assay::judge
