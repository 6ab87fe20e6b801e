#include <algorithm>
#include <cmath>
#include <map>

#include "judge/round_context.h"

namespace assay::judge {

namespace {

struct Span {
  Window window;
  TimePart part;
};

/// The latest of the ranks' values of `time`, because the slowest rank decides.
template <class Time>
std::optional<double> latest(const RoundContext& round, const Time& time) {
  std::optional<double> out;
  for (const RankEvidence& rank : round.evidence.ranks)
    if (const std::optional<double> t = time(rank)) out = std::max(out.value_or(*t), *t);
  return out;
}

/// The round on its axis, by the controller's clock.
std::optional<Window> wall_window(const RoundContext& round) {
  const RoundEvidence& evidence = round.evidence;
  if (!evidence.start || !evidence.end) return std::nullopt;
  const auto seconds_between = [](std::int64_t from_ns, std::int64_t to_ns) {
    return static_cast<double>(to_ns - from_ns) / 1e9;
  };
  const double wall = seconds_between(evidence.start->mono_ns, evidence.end->mono_ns);
  if (!(wall > 0)) return std::nullopt;
  // The first rank was started at the beginning of the axis.
  std::optional<double> first;
  for (const RankEvidence& rank : evidence.ranks) {
    if (!rank.start) continue;
    const Instant& start = rank.learned ? *rank.learned : *rank.start;
    const double launched = evidence.one_clock || rank.learned
                                ? seconds_between(evidence.start->mono_ns, start.mono_ns)
                                : seconds_between(evidence.start->wall_ns, start.wall_ns);
    first = std::min(first.value_or(launched), launched);
  }
  const double begin = -std::clamp(first.value_or(0), 0.0, wall);
  return Window{begin, begin + wall};
}

std::optional<double> first_step_end(const RoundContext& round, const RankEvidence& rank) {
  std::optional<double> out;
  for (const StepTrack& track : rank.log.tracks)
    if (!track.steps.empty())
      if (const auto t = round.timeline.at(rank, track.steps.front().at))
        out = std::max(out.value_or(*t), *t);
  return out;
}

std::optional<double> last_step_end(const RoundContext& round, const RankEvidence& rank) {
  std::optional<double> out;
  for (const StepTrack& track : rank.log.tracks)
    if (!track.steps.empty())
      if (const auto t = round.timeline.at(rank, track.steps.back().at))
        out = std::max(out.value_or(*t), *t);
  return out;
}

/// The consecutive parts from the round's beginning to its end, without gaps.
std::vector<Span> successive(const RoundContext& round, const Window& whole) {
  using enum TimePart;
  std::vector<Span> spans;
  double reached = whole.start;
  const auto until = [&](const std::optional<double>& t, TimePart part) {
    if (!t || !(*t > reached)) return;
    const double to = std::min(*t, whole.end);
    spans.push_back({{reached, to}, part});
    reached = to;
  };
  const auto at = [&](Stamp RankLog::*stamp) {
    return [&round, stamp](const RankEvidence& rank) {
      return round.timeline.at(rank, rank.log.*stamp);
    };
  };
  bool all_exited = true;
  bool all_ended = true;  // of the trainings that were begun
  bool any_event = false;
  for (const RankEvidence& rank : round.evidence.ranks) {
    all_exited = all_exited && rank.end && rank.ended_by != EndedBy::lost;
    all_ended = all_ended && (!rank.log.train_start.known() || rank.log.train_end.known());
    any_event = any_event || rank.log.events > 0;
  }
  const auto started = latest(round, [&](const RankEvidence& rank) {
    return rank.start ? round.timeline.at(rank.node, *rank.start) : std::nullopt;
  });
  const auto stepped =
      latest(round, [&](const RankEvidence& rank) { return first_step_end(round, rank); });
  const auto train_start = latest(round, at(&RankLog::train_start));
  const auto train_end = latest(round, [&](const RankEvidence& rank) {
    const auto said = round.timeline.at(rank, rank.log.train_end);
    return said ? said : last_step_end(round, rank);
  });

  until(started ? started : whole.end, launch);
  until(latest(round,
               [&](const RankEvidence& rank) {
                 const bool init = rank.log.init_start.known();
                 return round.timeline.at(rank, init ? rank.log.init_start : rank.log.train_start);
               }),
        start);
  until(train_start, preparation);
  until(stepped, train_start ? first_step : preparation);
  if (stepped && round.steady) until(round.steady->start, settling);
  until(train_end, stepped ? steps : training);
  if (all_exited)
    until(latest(round,
                 [&](const RankEvidence& rank) {
                   return rank.end ? round.timeline.at(rank.node, *rank.end) : std::nullopt;
                 }),
          !any_event               ? program
          : train_end && all_ended ? end
                                   : unexplained);
  until(whole.end, all_exited ? collection : unexplained);
  return spans;
}

/// The ranks' reported activities in between: the n-th occurrence of each part is taken from the
/// rank where it ended last. In order, without overlaps.
std::vector<Span> interludes(const RoundContext& round, const Window& within) {
  std::map<std::pair<TimePart, std::size_t>, Window> last;
  for (const RankEvidence& rank : round.evidence.ranks) {
    const RankClock clock = round.timeline.clock(rank);
    std::map<TimePart, std::size_t> times;
    const auto add = [&](TimePart part, const Stamp& stamp, double seconds) {
      const auto end = clock.at(stamp);
      if (!end) return;
      const Window window{*end - seconds, *end};
      const auto [known, fresh] = last.try_emplace({part, times[part]++}, window);
      if (!fresh && known->second.end < window.end) known->second = window;
    };
    for (const LoggedPhase& phase : rank.log.phases) add(phase.part, phase.at, phase.seconds);
    for (const Evaluation& evaluation : rank.log.evaluations)
      if (evaluation.seconds) add(TimePart::evaluation, evaluation.at, *evaluation.seconds);
  }
  std::vector<Span> spans;
  for (const auto& [what, window] : last) spans.push_back({window, what.first});
  std::ranges::stable_sort(spans, {}, [](const Span& span) { return span.window.start; });
  double reached = within.start;
  for (Span& span : spans) {
    const double limit = std::max(reached, within.end);
    span.window.start = std::clamp(span.window.start, reached, limit);
    span.window.end = std::clamp(span.window.end, span.window.start, limit);
    reached = std::max(reached, span.window.end);
  }
  std::erase_if(spans, [](const Span& span) { return !(span.window.length() > 0); });
  return spans;
}

/// How one rank's steps after the first spent their time.
struct StepParts {
  std::map<TimePart, double> seconds;
  double sum = 0;
  double own = 0;  ///< the part without waiting for other ranks
};

StepParts step_parts(const RankLog& log) {
  StepParts out;
  const double tracks = static_cast<double>(std::max<std::size_t>(log.tracks.size(), 1));
  const auto add = [&](TimePart part, const Total& total) {
    if (!total.known) return;
    const double seconds = std::max(0.0, total.sum - total.first) / tracks;
    out.seconds[part] = seconds;
    out.sum += seconds;
    if (part != TimePart::communication) out.own += seconds;
  };
  add(TimePart::data_wait, log.data_s);
  add(TimePart::compute, log.compute_s);
  add(TimePart::communication, log.comm_s);
  add(TimePart::optimizer, log.optimizer_s);
  return out;
}

/// Divides the steps' time like the rank that the others wait for: the one that waits least.
void divide_steps(const RoundContext& round, std::map<TimePart, double>& seconds) {
  const auto whole = seconds.find(TimePart::steps);
  if (whole == seconds.end()) return;
  StepParts slowest;
  for (const RankEvidence& rank : round.evidence.ranks)
    if (StepParts parts = step_parts(rank.log); parts.own > slowest.own) slowest = std::move(parts);
  if (!(slowest.sum > 0) || !std::isfinite(slowest.sum)) return;
  // Ranks measure on their own clocks, perhaps a device's, and may claim more time than there was.
  const double share = std::min(1.0, whole->second / slowest.sum);
  for (const auto& [part, taken] : slowest.seconds) seconds[part] += taken * share;
  seconds[TimePart::step_rest] += whole->second - slowest.sum * share;
  seconds.erase(whole);
}

}  // namespace

void compute_time_shares(RoundContext& round) {
  const std::optional<Window> whole = wall_window(round);
  if (!whole) return;
  const std::vector<Span> base = successive(round, *whole);
  // Ranks log nothing during the launch, or after the last of them has ended.
  Window ranks = *whole;
  for (const Span& span : base) {
    if (span.part == TimePart::launch) ranks.start = span.window.end;
    if (span.part == TimePart::collection) ranks.end = span.window.start;
  }
  std::map<TimePart, double> seconds;
  const std::vector<Span> between = interludes(round, ranks);
  for (const Span& span : between) seconds[span.part] += span.window.length();
  for (const Span& span : base) {
    double own = span.window.length();
    for (const Span& other : between)
      own -= std::max(0.0, std::min(span.window.end, other.window.end) -
                               std::max(span.window.start, other.window.start));
    seconds[span.part] += std::max(0.0, own);
  }
  divide_steps(round, seconds);
  for (const auto& [part, taken] : seconds)
    if (taken > 0) round.result.time_shares.push_back({part, taken});
  round.result.wall_s = whole->length();
}

std::string_view title_of(TimePart part) noexcept {
  using enum TimePart;
  switch (part) {
    case launch:
      return "Launch";
    case start:
      return "Program start";
    case device:
      return "Device start";
    case join:
      return "Ranks meeting";
    case data:
      return "Data opening";
    case model:
      return "Model building";
    case preparation:
      return "Other preparation";
    case first_step:
      return "First step";
    case settling:
      return "Steps before steady ones";
    case data_wait:
      return "Waiting for data";
    case compute:
      return "Compute";
    case communication:
      return "Communication";
    case optimizer:
      return "Optimizer";
    case step_rest:
      return "Rest of the steps";
    case steps:
      return "Steps";
    case training:
      return "Training";
    case evaluation:
      return "Evaluation";
    case checkpoint:
      return "Checkpoints";
    case end:
      return "End of the program";
    case program:
      return "Program";
    case collection:
      return "Collecting evidence";
    case unexplained:
      return "Not explained";
  }
  return {};
}

}  // namespace assay::judge
