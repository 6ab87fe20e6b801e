#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "catalog/metrics.h"
#include "core/text.h"
#include "judge/round_context.h"
#include "judge/stamp.h"
#include "judge/step_intervals.h"
#include "stats/bootstrap.h"
#include "stats/descriptive.h"
#include "stats/steady_state.h"

namespace assay::judge {

namespace {

using stats::Settling;

/// Ranks whose steps take the same total time belong to one job.
constexpr double kSameJobTime = 0.02;
/// A process that logged steps for a smaller part of the longest log's time is left out.
constexpr double kMinLogged = 0.1;

/// The steps of one process and its steady ones: intervals [first, end) without stalls.
struct StepSeries {
  std::size_t rank = 0;  ///< index in the evidence
  const StepTrack* track = nullptr;
  RankClock clock{};
  std::vector<StepInterval> intervals{};
  double seconds = 0;  ///< of all intervals
  stats::SteadyState state{};

  [[nodiscard]] const Step& step_of(const StepInterval& interval) const {
    return track->steps[interval.step];
  }
  [[nodiscard]] double start_of(std::size_t i) const {
    return clock.at(track->steps[intervals[i].step - 1].at).value_or(0);
  }
  [[nodiscard]] double end_of(std::size_t i) const {
    return clock.at(step_of(intervals[i]).at).value_or(0);
  }
  [[nodiscard]] Window window() const { return {start_of(state.first), end_of(state.end - 1)}; }
  template <typename Visit>
  void each_steady(const Visit& visit) const {
    auto stall = state.stalls.begin();
    for (std::size_t i = state.first; i < state.end; ++i) {
      if (stall != state.stalls.end() && *stall == i)
        ++stall;
      else
        visit(intervals[i]);
    }
  }
  [[nodiscard]] double steady_seconds() const {
    double sum = 0;
    each_steady([&](const StepInterval& interval) { sum += interval.seconds; });
    return sum;
  }
  [[nodiscard]] double stalled_seconds() const {
    double sum = 0;
    for (const std::size_t i : state.stalls) sum += intervals[i].seconds;
    return sum;
  }
};

std::vector<StepSeries> read_series(const RoundContext& round) {
  const RoundPauses pauses(round);
  std::vector<StepSeries> all;
  double longest = 0;
  for (std::size_t i = 0; i < round.evidence.ranks.size(); ++i) {
    const RankEvidence& rank = round.evidence.ranks[i];
    for (const StepTrack& track : rank.log.tracks) {
      StepSeries series{i, &track, round.timeline.clock(rank),
                        step_intervals(round, rank, track, pauses.of(i))};
      for (const StepInterval& interval : series.intervals) series.seconds += interval.seconds;
      longest = std::max(longest, series.seconds);
      if (series.seconds > 0) all.push_back(std::move(series));
    }
  }
  std::erase_if(all, [&](const StepSeries& s) { return s.seconds < kMinLogged * longest; });
  return all;
}

// Ranks of one job log the same steps, over the same time.
bool one_job(const std::vector<StepSeries>& all) {
  const StepSeries& first = all.front();
  return std::ranges::all_of(all, [&](const StepSeries& s) {
    return s.intervals.size() == first.intervals.size() &&
           std::abs(s.seconds - first.seconds) <= kSameJobTime * first.seconds &&
           std::ranges::equal(
               s.intervals, first.intervals, [&](const StepInterval& a, const StepInterval& b) {
                 return a.steps == b.steps && s.step_of(a).number == first.step_of(b).number;
               });
  });
}

stats::SteadyState find_in(const std::vector<double>& seconds) {
  return stats::find_steady_state(seconds).value_or(
      stats::SteadyState{Settling::too_few, 0, seconds.size()});
}

// The steps of a job are one series: the mean over its ranks.
void settle_job(std::vector<StepSeries>& all) {
  std::vector<double> seconds(all.front().intervals.size(), 0);
  for (const StepSeries& series : all)
    for (std::size_t i = 0; i < seconds.size(); ++i)
      seconds[i] += series.intervals[i].per_step() / static_cast<double>(all.size());
  const stats::SteadyState state = find_in(seconds);
  for (StepSeries& series : all) series.state = state;
}

// Independent ranks settle independently; what counts is the time in which all have settled.
// Returns false if there is none.
bool settle_apart(std::vector<StepSeries>& all) {
  Window common{-1e300, 1e300};
  for (StepSeries& series : all) {
    std::vector<double> seconds;
    seconds.reserve(series.intervals.size());
    for (const StepInterval& interval : series.intervals) seconds.push_back(interval.per_step());
    series.state = find_in(seconds);
    const Window own = series.window();
    common = {std::max(common.start, own.start), std::min(common.end, own.end)};
  }
  std::vector<std::pair<std::size_t, std::size_t>> parts;  // first and end of each part
  for (const StepSeries& series : all) {
    std::size_t first = series.state.first;
    std::size_t end = series.state.end;
    while (first < end && series.start_of(first) < common.start - kStampResolution_s) ++first;
    while (end > first && series.end_of(end - 1) > common.end + kStampResolution_s) --end;
    if (first == end) return false;
    parts.emplace_back(first, end);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    stats::SteadyState& state = all[i].state;
    std::tie(state.first, state.end) = parts[i];
    std::erase_if(state.stalls,
                  [&](std::size_t stall) { return stall < state.first || stall >= state.end; });
  }
  return true;
}

// The rate of what `amount` counts, summed over the processes of these ranks.
template <typename Amount>
double rate_of(const std::vector<StepSeries>& all, const std::vector<std::size_t>& sources,
               const Amount& amount) {
  double rate = 0;
  for (const StepSeries& series : all) {
    const double seconds = series.steady_seconds();
    if (std::ranges::find(sources, series.rank) == sources.end() || seconds <= 0) continue;
    double sum = 0;
    series.each_steady(
        [&](const StepInterval& interval) { sum += amount(series.step_of(interval)); });
    rate += sum / seconds;
  }
  return rate;
}

// The same, from each process's median step.
double median_flops(const std::vector<StepSeries>& all) {
  double rate = 0;
  for (const StepSeries& series : all) {
    std::vector<double> rates;
    series.each_steady([&](const StepInterval& interval) {
      if (interval.seconds > 0)
        rates.push_back(static_cast<double>(series.step_of(interval).flops) / interval.seconds);
    });
    rate += stats::median(rates).value_or(0);
  }
  return rate;
}

// Half the interval of the mean step time, relative to it; for several processes, that of the sum
// of their rates.
std::optional<double> half_interval(const std::vector<StepSeries>& all, bool job) {
  double squares = 0;
  for (const StepSeries& series : all) {
    const auto& interval = series.state.interval;
    if (!interval || series.state.mean <= 0) return std::nullopt;
    const double half = (interval->high - interval->low) / 2 / series.state.mean;
    if (job) return half;
    squares += half * half;
  }
  return std::sqrt(squares) / static_cast<double>(all.size());
}

std::string why_not(Settling settling, const StepSeries& series) {
  switch (settling) {
    case Settling::settled:
      break;
    case Settling::too_few:
      return fmt::format("{} after the warm-up, {} are needed",
                         counted(series.intervals.size(), "step"), stats::kMinSteadySteps);
    case Settling::no_level:
      return "their time keeps changing";
    case Settling::drifts:
      return fmt::format("their time still changes by {:+.1f} %", series.state.drift * 100);
  }
  return {};
}

struct Outcome {
  std::string unsettled;  ///< the reason; empty once the steps have settled
  std::string note;
  Origin origin = Origin::measured;
  std::optional<double> half;  ///< of the confidence interval over steps, relative
};

// "steps 12–400 of 400"
std::string which_steps(const StepSeries& series) {
  const StepInterval& first = series.intervals[series.state.first];
  const StepInterval& last = series.intervals[series.state.end - 1];
  const auto to = series.step_of(last).number;
  const std::int64_t from = std::int64_t{series.step_of(first).number} - first.steps + 1;
  if (series.step_of(first).number == Step::kNoNumber || to == Step::kNoNumber)
    return fmt::format("{} of {} steps", series.state.end - series.state.first,
                       steps_of(*series.track));
  return fmt::format("steps {}–{} of {}", from, to, steps_of(*series.track));
}

Outcome describe(const RoundContext& round, const std::vector<StepSeries>& all, bool job,
                 bool common) {
  Outcome out;
  for (const StepSeries& series : all) {
    if (series.state.settling == Settling::settled) continue;
    out.unsettled = why_not(series.state.settling, series);
    if (!job && all.size() > 1)
      out.unsettled += fmt::format(" (rank {})", round.evidence.ranks[series.rank].rank);
    break;
  }
  if (out.unsettled.empty() && !common) out.unsettled = "the ranks settled at different times";
  const bool one = job || all.size() == 1;
  const StepSeries& series = all.front();
  std::string what = one ? which_steps(series) : "the steps in which every rank is steady";
  if (!series.state.stalls.empty() && one)
    what += fmt::format(", without {} of {:.3g} s", counted(series.state.stalls.size(), "stall"),
                        series.stalled_seconds());
  out.note = out.unsettled.empty() ? "over " + what
                                   : fmt::format("over {}; not steady: {}", what, out.unsettled);
  out.origin = round.clock_origin;
  if (!out.unsettled.empty()) out.origin = worst(out.origin, Origin::estimated);
  out.half = half_interval(all, job);
  return out;
}

void add_rates(RoundContext& round, const std::vector<StepSeries>& all, const Outcome& outcome) {
  const auto add = [&](const std::string& name, double value) {
    if (value <= 0) return;
    round.metrics.add(name, value, outcome.origin, outcome.note);
    if (outcome.half) round.metrics.set_interval(name, 1 - *outcome.half, 1 + *outcome.half);
  };
  add("steady_throughput",
      rate_of(all, sample_sources(round), [](const Step& step) { return step.samples; }));
  const double tokens = rate_of(all, token_sources(round),
                                [](const Step& step) { return static_cast<double>(step.tokens); });
  add("steady_tokens_per_s", tokens);
  add("steady_tokens_per_s_per_device", tokens / round.plan.world_size());

  std::vector<std::size_t> everybody;
  for (const StepSeries& series : all) everybody.push_back(series.rank);
  // A micro-benchmark's figure is that of its typical step.
  const bool by_median = round.plan.headline == "achieved_flops";
  const double flops = by_median ? median_flops(all) : rate_of(all, everybody, [](const Step& s) {
    return static_cast<double>(s.flops);
  });
  if (flops <= 0) return;
  add_flops(round, "", flops, outcome.origin,
            both(by_median ? "median of the steps" : "", outcome.note));
  for (const char* name : {"achieved_flops", "mfu"})
    if (outcome.half && !by_median)
      round.metrics.set_interval(name, 1 - *outcome.half, 1 + *outcome.half);
  if (!by_median) return;
  double best = 0;
  for (const RankEvidence& rank : round.evidence.ranks) best += rank.log.best_flops.value_or(0);
  if (best > 0) round.metrics.add("best_flops", best, round.clock_origin);
}

void add_step_times(RoundContext& round, const std::vector<StepSeries>& all,
                    const Outcome& outcome) {
  double seconds = 0;
  double stalled = 0;
  double mean = 0;
  double steady = 0;
  double done = 0;
  std::size_t stalls = 0;
  Origin counted_by = Origin::measured;
  for (const StepSeries& series : all) {
    if (steps_seen(round.evidence.ranks[series.rank], *series.track) < steps_of(*series.track))
      counted_by = Origin::reported;
    double steps = 0;
    series.each_steady([&](const StepInterval& interval) { steps += interval.steps; });
    const double own = series.steady_seconds();
    seconds += own;
    stalled += series.stalled_seconds();
    stalls += series.state.stalls.size();
    mean += steps > 0 ? own / steps / static_cast<double>(all.size()) : 0;
    steady += steps;
    done += static_cast<double>(steps_of(*series.track));
  }
  round.metrics.add("steady_step_time", mean, worst(outcome.origin, counted_by), outcome.note);
  if (outcome.half)
    round.metrics.set_interval("steady_step_time", 1 - *outcome.half, 1 + *outcome.half);
  const double share = outcome.unsettled.empty() && done > 0 ? std::min(1.0, steady / done) : 0;
  round.metrics.add("steady_share", share, round.clock_origin);
  const std::string longer = fmt::format("{} that took over {} times the median",
                                         counted(stalls, "step"), stats::kStallFactor);
  round.metrics.add("stall_time", stalled / static_cast<double>(all.size()), round.clock_origin,
                    stalls > 0 ? longer : "");
  if (seconds + stalled > 0)
    round.fact("stall_share", stalled / (seconds + stalled),
               fmt::format("{}, {:.3g} s", longer, stalled / static_cast<double>(all.size())));
}

// The fraction of the steady steps' time that `seconds` makes up, as the mean over the processes;
// nothing if any of them does not log `known`.
template <typename Seconds>
std::optional<double> share_of(const RoundContext& round, const std::vector<StepSeries>& all,
                               Total RankLog::*known, const Seconds& seconds) {
  double sum = 0;
  for (const StepSeries& series : all) {
    const double whole = series.steady_seconds();
    if (!(round.evidence.ranks[series.rank].log.*known).known || whole <= 0) return std::nullopt;
    double own = 0;
    series.each_steady(
        [&](const StepInterval& interval) { own += seconds(series.step_of(interval)); });
    sum += std::min(1.0, own / whole);  // a device uses its own clock
  }
  return sum / static_cast<double>(all.size());
}

// The waiting share of a pipeline with equal stages and free communication.
std::string ideal_bubble(const RankLog& log) {
  const auto told = [&](const char* name) {
    const auto found =
        std::ranges::find(log.finished_values, name, &std::pair<std::string, double>::first);
    return found == log.finished_values.end() ? 0 : found->second;
  };
  const double stages = told("pipeline_parallel");
  const double parts = told("micro_batches");
  if (stages < 2 || parts < 1) return {};
  return fmt::format("equal stages would have {:.3g}", (stages - 1) / (parts + stages - 1));
}

// Adds what the ranks' compute waits for: collectives that nothing hides, and other stages.
void add_waits(RoundContext& round, const std::vector<StepSeries>& all, const Outcome& outcome) {
  if (round.plan.world_size() < 2) return;
  round.metrics.add(
      "exposed_comm_share",
      share_of(round, all, &RankLog::comm_s,
               [](const Step& step) { return std::max(0.0F, step.comm_s - step.bubble_s); }),
      outcome.origin, outcome.note);
  round.metrics.add(
      "bubble_share",
      share_of(round, all, &RankLog::bubble_s, [](const Step& step) { return step.bubble_s; }),
      outcome.origin, both(ideal_bubble(round.evidence.ranks[all.front().rank].log), outcome.note));
}

// Kept for comparisons with other rounds; merging neighbors preserves what those need.
constexpr std::size_t kKeptSteps = 128;
constexpr std::size_t kKeptSeries = 64;

std::vector<std::vector<double>> kept_steps(const std::vector<StepSeries>& all, bool job) {
  std::vector<std::vector<double>> out;
  for (const StepSeries& series : all) {
    std::vector<double> seconds;
    series.each_steady(
        [&](const StepInterval& interval) { seconds.push_back(interval.per_step()); });
    if (job && !out.empty()) {
      for (std::size_t i = 0; i < seconds.size(); ++i) out[0][i] += seconds[i];
    } else if (out.size() < kKeptSeries) {
      out.push_back(std::move(seconds));
    }
  }
  for (std::vector<double>& seconds : out) {
    if (job)
      for (double& value : seconds) value /= static_cast<double>(all.size());
    seconds = stats::grouped(seconds, kKeptSteps);
  }
  return out;
}

}  // namespace

void compute_steady(RoundContext& round) {
  // A workload whose headline is a rate of its own takes steps of several kinds (sizes,
  // directions), and so do an experiment's trials: their times have no common level.
  const catalog::KnownMetric* named = catalog::find_known_metric(round.plan.headline);
  if (!round.train || round.plan.automl || (named != nullptr && named->by_workload)) return;
  round.began_again =
      std::ranges::any_of(round.evidence.ranks, [](const auto& r) { return r.log.restarts > 0; });
  if (round.began_again) return;
  std::vector<StepSeries> all = read_series(round);
  if (all.empty()) return;
  const bool job = one_job(all);
  bool common = true;
  if (job)
    settle_job(all);
  else
    common = settle_apart(all);
  const Outcome outcome = describe(round, all, job, common);
  add_rates(round, all, outcome);
  add_step_times(round, all, outcome);
  add_waits(round, all, outcome);
  round.result.steady_steps = kept_steps(all, job);
  round.fact("steps_unsettled", outcome.unsettled.empty() ? 0 : 1, outcome.unsettled);

  Window window = all.front().window();
  for (const StepSeries& series : all) {
    const Window own = series.window();
    window = {std::max(window.start, own.start), std::min(window.end, own.end)};
  }
  if (window.length() <= 0) return;
  round.steady = window;
}

}  // namespace assay::judge
