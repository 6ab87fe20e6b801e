#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "judge/round_context.h"
#include "judge/step_intervals.h"
#include "stats/descriptive.h"
#include "stats/series.h"

namespace assay::judge {

namespace {

constexpr double kSwallowed = 0.5;

// Times between neighboring STEP_ENDs of one process, per step.
struct StepTimes {
  std::vector<double> per_step;
  double seconds = 0;
  double steps = 0;
  double swallowed = 0;  // steps whose time is mostly evaluations and checkpoints
  [[nodiscard]] std::optional<double> mean() const {
    return steps > 0 ? std::optional(seconds / steps) : std::nullopt;
  }
  void add(const std::vector<StepInterval>& intervals) {
    for (const StepInterval& interval : intervals) {
      per_step.push_back(interval.per_step());
      seconds += interval.seconds;
      steps += interval.steps;
      if (interval.paused > kSwallowed * (interval.paused + interval.seconds))
        swallowed += interval.steps;
    }
  }
};

// Steps by their numbers, and those seen to end: the most of any process.
struct CountedSteps {
  std::int64_t done = 0;
  std::int64_t seen = 0;

  void add(const RankEvidence& rank, const StepTrack& track) {
    done = std::max(done, steps_of(track));
    seen = std::max(seen, steps_seen(rank, track));
  }
  // Steps that nobody saw end, and their times, are only the workload's claim.
  [[nodiscard]] Origin origin() const { return seen < done ? Origin::reported : Origin::measured; }
  [[nodiscard]] std::string note() const {
    return seen < done ? fmt::format("by their numbers: {} of {} were logged", seen, done) : "";
  }
};

void add_step_metrics(RoundContext& round, StepTimes& all, const CountedSteps& steps,
                      std::uint32_t merged) {
  if (all.per_step.empty()) return;
  const std::string note =
      both(steps.note(),
           merged > 1 ? fmt::format("over groups of {} steps: the log is very long", merged) : "");
  const Origin origin = worst(round.clock_origin, steps.origin());
  static constexpr double kPercents[] = {0, 50, 90, 99, 100};
  static constexpr const char* kNames[] = {"step_time_min", "step_time_p50", "step_time_p90",
                                           "step_time_p99", "step_time_max"};
  round.metrics.add("step_time_mean", all.mean(), origin, steps.note());
  const auto values = stats::percentiles(std::move(all.per_step), kPercents);
  for (std::size_t i = 0; i < values.size(); ++i)
    round.metrics.add(kNames[i], values[i], origin, note);
}

// Ranks that reduce their gradients together all take as long as the slowest; they differ in the
// part of a step in which a rank does not wait for others.
std::optional<double> own_time(const RankEvidence& rank, const std::optional<double>& mean_step_s) {
  std::uint64_t logged = 0;
  for (const StepTrack& track : rank.log.tracks) logged += track.logged;
  if (!mean_step_s || !rank.log.comm_s.known || logged == 0) return std::nullopt;
  const double waiting = rank.log.comm_s.sum / static_cast<double>(logged);
  return std::max(0.0, *mean_step_s - waiting);
}

// A rank's comparable time per step: its own part, if every rank logs its waits.
using StepTime = std::optional<double> RankResult::*;

StepTime comparable_time(const std::vector<RankResult>& ranks) {
  const bool all = std::ranges::all_of(
      ranks, [](const RankResult& rank) { return rank.mean_own_s.value_or(0) > 0; });
  return all ? &RankResult::mean_own_s : &RankResult::mean_step_s;
}

void add_node_imbalance(RoundContext& round, StepTime time) {
  std::map<int, std::vector<double>> by_node;
  std::map<int, std::string> hosts;
  for (const RankResult& rank : round.result.ranks) {
    if ((rank.*time).value_or(0) <= 0) continue;
    by_node[rank.node].push_back(*(rank.*time));
    hosts[rank.node] = rank.host;
  }
  if (by_node.size() < 2) return;
  std::vector<double> means;
  double worst = 0;
  int slowest = 0;
  for (const auto& [node, times] : by_node) {
    means.push_back(*stats::mean(times));
    if (means.back() <= worst) continue;
    worst = means.back();
    slowest = node;
  }
  round.metrics.add("node_imbalance", worst / *stats::median(means), Origin::measured,
                    fmt::format("{} (node {}) is the slowest", hosts[slowest], slowest));
}

void add_stragglers(RoundContext& round) {
  const StepTime time = comparable_time(round.result.ranks);
  std::vector<double> means;
  for (const RankResult& rank : round.result.ranks)
    if ((rank.*time).value_or(0) > 0) means.push_back(*(rank.*time));
  const auto median = stats::median(means);
  if (means.size() < 2 || !median || *median <= 0) return;
  const RankResult* slowest = nullptr;
  for (RankResult& rank : round.result.ranks) {
    if ((rank.*time).value_or(0) <= 0) continue;
    rank.relative_speed = *median / *(rank.*time);
    if (slowest == nullptr || *(rank.*time) > *(slowest->*time)) slowest = &rank;
  }
  const double ratio = *(slowest->*time) / *median;
  const std::string who = fmt::format("rank {} on {}", slowest->rank, slowest->host);
  round.metrics.add("straggler_ratio", ratio, Origin::measured, who + " is the slowest");
  round.fact("straggler_ratio", ratio, who);
  add_node_imbalance(round, time);
}

// Samples and time without evaluations, in equal parts of the training.
class ThroughputBuckets {
 public:
  ThroughputBuckets(const Window& train, std::size_t count)
      : start_(train.start),
        width_(train.length() / static_cast<double>(count)),
        samples_(count, 0.0),
        evaluated_(count, 0.0) {}

  // Spreads the samples evenly over the time from `from` to `to`, without evaluations.
  void add(double from, double to, double samples, const std::vector<Window>& evaluations) {
    const double trained = to - from - within(evaluations, from, to);
    if (!(trained > 0)) {
      samples_[bucket(to)] += samples;
      return;
    }
    for (std::size_t k = bucket(from); k <= bucket(to); ++k) {
      const double a = std::max(from, left(k));
      const double b = std::min(to, left(k) + width_);
      if (b > a) samples_[k] += samples * (b - a - within(evaluations, a, b)) / trained;
    }
  }

  void evaluate(const std::vector<Window>& evaluations) {
    for (const Window& w : evaluations)
      for (std::size_t k = bucket(w.start); k <= bucket(w.end); ++k)
        evaluated_[k] +=
            std::max(0.0, std::min(w.end, left(k) + width_) - std::max(w.start, left(k)));
  }

  // A part that was mostly evaluation has no throughput, so the line is interrupted there.
  void to(Series& series) const {
    for (std::size_t k = 0; k < samples_.size(); ++k) {
      const double trained = width_ - evaluated_[k];
      const bool none = trained < 0.25 * width_;
      series.points.push_back({left(k) + width_ / 2, none ? std::nan("") : samples_[k] / trained});
    }
  }

 private:
  [[nodiscard]] std::size_t bucket(double t) const {
    return static_cast<std::size_t>(
        std::clamp((t - start_) / width_, 0.0, static_cast<double>(samples_.size() - 1)));
  }
  [[nodiscard]] double left(std::size_t k) const {
    return start_ + width_ * static_cast<double>(k);
  }
  static double within(const std::vector<Window>& windows, double a, double b) {
    double sum = 0;
    auto w = std::ranges::lower_bound(windows, a, {}, &Window::end);
    for (; w != windows.end() && w->start < b; ++w)
      sum += std::max(0.0, std::min(b, w->end) - std::max(a, w->start));
    return sum;
  }

  double start_;
  double width_;
  std::vector<double> samples_;
  std::vector<double> evaluated_;
};

// An evaluation of unknown duration is taken to begin after the step before it.
std::vector<Window> all_windows(const EvaluationWindows& evaluations, const StepTrack& track,
                                const RankClock& clock, double train_start) {
  std::vector<Window> windows = evaluations.windows;
  if (evaluations.untimed.empty()) return windows;
  auto end = evaluations.untimed.begin();
  double before = train_start;
  for (const Step& step : track.steps) {
    const auto t = clock.at(step.at);
    if (!t) continue;
    for (; end != evaluations.untimed.end() && *end < *t; ++end)
      if (*end > before) windows.push_back({before, *end});
    before = std::max(before, *t);
  }
  for (; end != evaluations.untimed.end(); ++end) windows.push_back({before, *end});
  std::ranges::sort(windows, {}, &Window::start);
  double covered = train_start;
  for (Window& w : windows) {
    w.start = std::max(w.start, covered);
    w.end = std::max(w.end, w.start);
    covered = w.end;
  }
  return windows;
}

void add_throughput_series(RoundContext& round, const RoundPauses& pauses) {
  if (!round.train || !(round.train->length() > 0)) return;
  const auto sources = sample_sources(round);
  std::size_t most = 0;
  for (const std::size_t i : sources)
    for (const StepTrack& track : round.evidence.ranks[i].log.tracks)
      most = std::max(most, track.steps.size());
  if (most < 2) return;
  ThroughputBuckets buckets(*round.train, std::min<std::size_t>(most, kSeriesPoints / 2));
  bool evaluated = false;
  for (const std::size_t i : sources) {
    const RankEvidence& rank = round.evidence.ranks[i];
    const RankClock clock = round.timeline.clock(rank);
    for (const StepTrack& track : rank.log.tracks) {
      const auto windows = all_windows(pauses.of(i), track, clock, round.train->start);
      if (!evaluated) buckets.evaluate(windows);
      evaluated = evaluated || !windows.empty();
      double from = round.train->start;
      for (const Step& step : track.steps) {
        const auto to = clock.at(step.at);
        if (!to) continue;
        buckets.add(std::min(from, *to), *to, step.samples, windows);
        from = std::max(from, *to);
      }
    }
  }
  Series series = make_series("throughput", "all ranks");
  buckets.to(series);
  round.result.series.push_back(std::move(series));
}

void add_loss_series(RoundContext& round) {
  if (round.plan.automl) return;  // a rank trains many models, which compute_automl separates
  for (const RankEvidence& rank : round.evidence.ranks) {
    if (rank.log.tracks.empty()) continue;
    const RankClock clock = round.timeline.clock(rank);
    std::vector<stats::Sample> losses;
    for (const Step& step : rank.log.tracks.front().steps)
      if (std::isfinite(step.loss))
        if (const auto t = clock.at(step.at)) losses.push_back({*t, step.loss});
    if (losses.empty()) continue;
    Series series = make_series("loss", fmt::format("rank {}", rank.rank));
    for (const stats::Sample& s : stats::thin(losses, kSeriesPoints))
      series.points.push_back({s.t, s.value});
    round.result.series.push_back(std::move(series));
    return;
  }
}

std::string ended_by_for_people(std::optional<EndedBy> ended_by) {
  if (!ended_by) return {};
  const bool by_assay = *ended_by != EndedBy::itself && *ended_by != EndedBy::lost;
  return (by_assay ? "assay: " : "") + std::string(to_text(*ended_by));
}

}  // namespace

void compute_steps(RoundContext& round) {
  const RoundEvidence& evidence = round.evidence;
  const RoundPauses pauses(round);
  StepTimes all;
  CountedSteps steps;
  bool logged = false;
  std::uint32_t merged = 1;
  for (std::size_t i = 0; i < evidence.ranks.size(); ++i) {
    const RankEvidence& rank = evidence.ranks[i];
    RankResult out;
    out.rank = rank.rank;
    out.node = rank.node;
    out.local_rank = rank.local_rank;
    out.host = rank.host;
    out.exit = rank.exit;
    out.ended_by = ended_by_for_people(rank.ended_by);
    out.log = rank.log_path;
    out.malformed_lines = rank.log.malformed_lines;
    out.dropped_bytes = rank.dropped_bytes;
    if (rank.bound) out.bound = rank.bound->text();
    if (rank.ran_on) out.ran_on = rank.ran_on->text();
    out.samples = rank.log.samples.sum;
    StepTimes own;
    for (const StepTrack& track : rank.log.tracks) {
      own.add(step_intervals(round, rank, track, pauses.of(i)));
      out.steps = std::max(out.steps, steps_of(track));
      steps.add(rank, track);
      logged = logged || track.logged > 0;
      merged = std::max(merged, track.merged);
    }
    out.mean_step_s = own.mean();
    out.mean_own_s = own_time(rank, out.mean_step_s);
    all.per_step.insert(all.per_step.end(), own.per_step.begin(), own.per_step.end());
    all.seconds += own.seconds;
    all.steps += own.steps;
    all.swallowed += own.swallowed;
    round.result.ranks.push_back(std::move(out));
  }
  if (logged) {
    round.metrics.add("steps", static_cast<double>(steps.done), steps.origin(), steps.note());
    round.fact("steps_seen", static_cast<double>(steps.seen),
               steps.seen < steps.done ? fmt::format("of {} by their numbers", steps.done) : "");
  }
  constexpr double kFewestSteps = 10;
  if (all.steps >= kFewestSteps)
    round.fact("steps_in_pauses", all.swallowed / all.steps,
               fmt::format("{:.0f} of {:.0f} steps", all.swallowed, all.steps));
  add_step_metrics(round, all, steps, merged);
  add_stragglers(round);
  add_throughput_series(round, pauses);
  add_loss_series(round);
}

}  // namespace assay::judge
