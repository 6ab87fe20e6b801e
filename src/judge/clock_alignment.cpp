#include "judge/clock_alignment.h"

#include <cmath>
#include <map>

namespace assay::judge {

namespace {

// Two readings of a clock are not simultaneous, and logs have milliseconds.
constexpr double kSlack_s = 0.001;

void shift(Stamp& stamp, std::int64_t by_ms) {
  if (stamp.wall_ms != kNoTime) stamp.wall_ms += by_ms;
}

void shift(RankEvidence& rank, std::int64_t by_ns) {
  if (rank.start) rank.start->wall_ns += by_ns;
  // For a lost rank, the controller stamped the end.
  if (rank.end && rank.ended_by != EndedBy::lost) rank.end->wall_ns += by_ns;
  const std::int64_t by_ms = by_ns / 1'000'000;
  RankLog& log = rank.log;
  for (Stamp* stamp : {&log.first_event, &log.last_event, &log.init_start, &log.init_end,
                       &log.train_start, &log.train_end})
    shift(*stamp, by_ms);
  LogAudit& audit = log.audit;
  for (LoggedEvent* event :
       {&audit.mono_first, &audit.mono_last, &audit.wall_first, &audit.wall_last,
        &audit.first_repeated, &audit.first_back, &audit.mono_ahead, &audit.wall_ahead})
    shift(event->at, by_ms);
  for (StepTrack& track : log.tracks)
    for (Step& step : track.steps) shift(step.at, by_ms);
  for (Evaluation& evaluation : log.evaluations) shift(evaluation.at, by_ms);
  for (LoggedPhase& phase : log.phases) shift(phase.at, by_ms);
}

}  // namespace

std::optional<ClockError> clock_error(const NodeEvidence& node) {
  if (node.clock_measured_s) {
    const ClockError measured{*node.clock_measured_s, node.clock_uncertainty_s, true};
    if (!node.clock_behind_s) return measured;
    const double message_took = *node.clock_behind_s - measured.behind_s;
    if (message_took >= -measured.uncertainty_s - kSlack_s && message_took < kWrongClock_s)
      return measured;
  }
  if (node.clock_behind_s) return ClockError{*node.clock_behind_s, 0, false};
  return std::nullopt;
}

void align_clocks(RoundEvidence& evidence) {
  std::map<int, std::int64_t> wrong;
  for (NodeEvidence& node : evidence.nodes) {
    const std::optional<ClockError> error = clock_error(node);
    if (!error) continue;
    const double trusted = error->measured ? error->uncertainty_s + kSlack_s : kWrongClock_s;
    if (std::abs(error->behind_s) <= trusted) continue;
    const auto by_ns = static_cast<std::int64_t>(error->behind_s * 1e9);
    wrong[node.node] = by_ns;
    for (telemetry::Row& row : node.telemetry.rows) row.wall_ns += by_ns;
  }
  if (wrong.empty()) return;
  for (RankEvidence& rank : evidence.ranks)
    if (const auto at = wrong.find(rank.node); at != wrong.end()) shift(rank, at->second);
}

}  // namespace assay::judge
