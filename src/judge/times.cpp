#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "judge/evaluations.h"
#include "judge/round_context.h"

namespace assay::judge {

namespace {

constexpr std::size_t kMaxPhases = 500;

void widen(std::optional<Window>& window, double t) {
  if (!window) {
    window = Window{t, t};
    return;
  }
  window->start = std::min(window->start, t);
  window->end = std::max(window->end, t);
}

void add_e2e(RoundContext& round, const Window& ended) {
  double late_s = 0;
  bool by_service = false;
  for (const RankEvidence& rank : round.evidence.ranks) {
    by_service = by_service || rank.by_service;
    if (rank.learned && !rank.by_service)
      late_s = std::max(late_s, rank.learned_late_s + rank.end_late_s);
  }
  if (late_s > 0)
    round.metrics.add("e2e_time", ended.length(), Origin::estimated,
                      fmt::format("by when the job was asked about, within {:.2g} s: the service "
                                  "told no times",
                                  late_s));
  else
    round.metrics.add("e2e_time", ended.length(), Origin::measured,
                      by_service ? "the job, by the service's clock" : "");
}

void compute_alive(RoundContext& round) {
  bool all_ended = !round.evidence.ranks.empty();
  std::optional<Window> ended;
  for (const RankEvidence& rank : round.evidence.ranks) {
    const bool supervised = rank.start && rank.end && rank.exit && rank.ended_by != EndedBy::lost;
    all_ended = all_ended && supervised;
    if (rank.start)
      if (const auto t = round.timeline.at(rank.node, *rank.start)) widen(ended, *t);
    if (rank.end && rank.ended_by != EndedBy::lost)
      if (const auto t = round.timeline.at(rank.node, *rank.end)) widen(ended, *t);
    for (const Stamp& stamp : {rank.log.first_event, rank.log.last_event})
      if (const auto t = round.timeline.at(rank, stamp)) widen(round.alive, *t);
  }
  if (all_ended && ended) {
    round.alive = ended;
    add_e2e(round, *ended);
  } else if (ended) {
    widen(round.alive, ended->start);
    widen(round.alive, ended->end);
  }
}

void compute_launch(RoundContext& round) {
  const RoundEvidence& evidence = round.evidence;
  if (!evidence.start) return;
  std::optional<double> longest;
  double late_s = 0;
  for (const RankEvidence& rank : evidence.ranks) {
    if (!rank.start) return;
    // Uses the controller's own clock when the start is on the service's.
    const Instant& start = rank.learned ? *rank.learned : *rank.start;
    if (rank.learned) late_s = std::max(late_s, rank.learned_late_s);
    const std::int64_t ns = evidence.one_clock || rank.learned
                                ? start.mono_ns - evidence.start->mono_ns
                                : start.wall_ns - evidence.start->wall_ns;
    longest = std::max(longest.value_or(0), static_cast<double>(ns) / 1e9);
    if (ns < 0) return;
  }
  if (late_s > 0)
    round.metrics.add("launch_time", longest, Origin::estimated,
                      fmt::format("by when the job was asked about, up to {:.2g} s late", late_s));
  else
    round.metrics.add("launch_time", longest, Origin::measured,
                      evidence.one_clock ? "" : "by the wall clocks of controller and nodes");
}

void compute_init(RoundContext& round) {
  std::optional<double> start;
  std::optional<double> end;
  for (const RankEvidence& rank : round.evidence.ranks) {
    if (const auto t = round.timeline.at(rank, rank.log.init_start))
      start = std::min(start.value_or(*t), *t);
    if (const auto t = round.timeline.at(rank, rank.log.init_end))
      end = std::max(end.value_or(*t), *t);
  }
  if (start && end && *end >= *start) {
    round.metrics.add("init_time", *end - *start, round.clock_origin);
  } else if (round.train && round.alive && round.train_note.empty() &&
             round.train->start >= round.alive->start) {
    round.metrics.add("init_time", round.train->start - round.alive->start, Origin::estimated,
                      "from the first rank's exec to TRAIN_START: no INIT_START and INIT_END");
  }
}

void compute_train(RoundContext& round) {
  std::optional<double> start;
  std::optional<double> end;
  std::optional<Window> steps;
  for (const RankEvidence& rank : round.evidence.ranks) {
    if (const auto t = round.timeline.at(rank, rank.log.train_start))
      start = std::min(start.value_or(*t), *t);
    if (const auto t = round.timeline.at(rank, rank.log.train_end))
      end = std::max(end.value_or(*t), *t);
    for (const StepTrack& track : rank.log.tracks) {
      if (track.steps.empty()) continue;
      const auto first = round.timeline.at(rank, track.steps.front().at);
      const auto last = round.timeline.at(rank, track.steps.back().at);
      if (first) widen(steps, *first);
      // A clock that steps back may put the last step before the first; the clock rule reports it.
      if (last) widen(steps, *last);
    }
  }
  round.train_origin = round.clock_origin;
  if (start && end) {
    round.train = Window{*start, *end};
  } else if (steps) {
    round.train = Window{start.value_or(steps->start), end.value_or(steps->end)};
    round.train_origin = worst(round.train_origin, Origin::estimated);
    round.train_note = start ? "from TRAIN_START to the last STEP_END: no TRAIN_END"
                       : end ? "from the first STEP_END to TRAIN_END: no TRAIN_START"
                             : "from the first to the last STEP_END: no TRAIN_START and TRAIN_END";
    round.train_from_first_step = !start;
  }
  if (round.train && !(round.train->length() > 0)) round.train.reset();
  if (round.train)
    round.metrics.add("train_time", round.train->length(), round.train_origin, round.train_note);
}

void compute_phases(RoundContext& round) {
  std::vector<Phase>& phases = round.result.phases;
  if (!round.train) return;
  if (round.alive && round.train->start > round.alive->start)
    phases.push_back({"init", round.alive->start, round.train->start});
  phases.push_back({"train", round.train->start, round.train->end});
  for (const RankEvidence& rank : round.evidence.ranks) {
    const EvaluationWindows evaluations = evaluation_windows(round.timeline, rank, *round.train);
    if (evaluations.windows.empty()) continue;
    for (const Window& w : evaluations.windows)
      if (phases.size() < kMaxPhases) phases.push_back({"evaluate", w.start, w.end});
    break;
  }
}

}  // namespace

void compute_times(RoundContext& round) {
  compute_alive(round);
  compute_train(round);
  compute_launch(round);
  compute_init(round);
  compute_phases(round);
}

}  // namespace assay::judge
