#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "catalog/metrics.h"
#include "core/text.h"
#include "core/units.h"
#include "judge/evaluations.h"
#include "judge/rank_log.h"
#include "judge/round_context.h"
#include "judge/stamp.h"
#include "stats/series.h"

namespace assay::judge {

namespace {

constexpr std::array<std::string_view, 5> kPrefixes{"eval_", "final_", "val_", "test_", "best_"};

std::string bare(std::string_view name) {
  std::string out = to_lower(name);
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view prefix : kPrefixes) {
      if (!out.starts_with(prefix) || out.size() == prefix.size()) continue;
      out.erase(0, prefix.size());
      found = true;
    }
  }
  return out;
}

// "eval_mlm_accuracy" → "final_mlm_accuracy"; a loss keeps "eval": it is not the training loss.
std::string final_name(const std::string& key) {
  std::string rest = key;
  if (rest.starts_with("final_")) return rest;
  if (rest.starts_with("eval_") && rest != "eval_loss") rest.erase(0, 5);
  return "final_" + rest;
}

bool looks_like_quality(const std::string& key) {
  return std::ranges::any_of(kPrefixes, [&](std::string_view p) { return key.starts_with(p); }) ||
         perflog::better_of_quality(key) != Better::neither;
}

void add_quality(RoundContext& round, const std::string& name, const std::string& key, double value,
                 Origin origin, std::string note) {
  const auto& target = round.plan.target;
  const Better better = target && is_target_metric(key, target->metric)
                            ? target->better
                            : perflog::better_of_quality(key);
  round.metrics.add_named({name, "1", better, "quality reached: " + key}, value, origin,
                          std::move(note));
}

// Adds the figures of micro-benchmarks in FINISHED: latencies, and bandwidths by suffix or prefix.
void add_reported_rates(RoundContext& round,
                        const std::vector<std::pair<std::string, double>>& finished) {
  constexpr std::string_view kLatency = "latency_us_";
  for (const auto& [key, value] : finished) {
    const bool latency = key.starts_with(kLatency);
    const std::string name = latency ? "latency_" + key.substr(kLatency.size()) : key;
    const catalog::MetricFamily* family = catalog::find_metric_family(name);
    if (family == nullptr || key.starts_with("best_") || (family->unit != "B/s" && !latency))
      continue;
    round.metrics.add_named(
        {name, std::string(family->unit), family->better, std::string(family->description)},
        latency ? value * 1e-6 : value, Origin::reported, "by FINISHED");
  }
}

}  // namespace

void add_quality_series(RoundContext& round) {
  constexpr std::size_t kMaxQualities = 6;
  const std::optional<plan::Target>& target = round.plan.target;
  std::vector<Series> found;
  std::string best_of;  // the series that the best reachable value belongs to
  for (const EvaluationResult& evaluation : round.result.evaluations)
    for (const auto& [key, value] : evaluation.values) {
      const bool asked = target && is_target_metric(key, target->metric);
      if (!std::isfinite(value) || (!asked && !looks_like_quality(key))) continue;
      const std::string name = final_name(key).substr(std::string_view("final_").size());
      auto series = std::ranges::find(found, name, &Series::name);
      if (series == found.end()) {
        if (found.size() == kMaxQualities) continue;
        series = found.insert(found.end(), {name, "evaluation", "1", {}});
        if (asked) round.result.levels.push_back({name, "target", target->value});
        if (asked || (best_of.empty() && perflog::better_of_quality(key) == Better::higher))
          best_of = name;
      }
      series->points.push_back({evaluation.end_s, value});
    }
  for (const RankEvidence& rank : round.evidence.ranks) {
    const auto best = std::ranges::find(rank.log.finished_values, "best_reachable",
                                        &std::pair<std::string, double>::first);
    if (best == rank.log.finished_values.end() || best_of.empty() || !std::isfinite(best->second))
      continue;
    round.result.levels.push_back({best_of, "best reachable", best->second});
    break;
  }
  for (Series& series : found) {
    if (series.points.size() > kSeriesPoints) {
      std::vector<stats::Sample> all;
      for (const Point& point : series.points) all.push_back({point.t_s, point.value});
      series.points.clear();
      for (const stats::Sample& s : stats::thin(all, kSeriesPoints))
        series.points.push_back({s.t, s.value});
    }
    round.result.series.push_back(std::move(series));
  }
}

std::optional<double> EvaluationWindows::within(double a, double b) const {
  const auto at = std::ranges::upper_bound(untimed, a);
  if (at != untimed.end() && *at <= b) return std::nullopt;
  double inside = 0;
  auto w = std::ranges::lower_bound(windows, a, {}, &Window::end);
  for (; w != windows.end() && w->start < b; ++w)
    inside += std::max(0.0, std::min(b, w->end) - std::max(a, w->start));
  return inside;
}

EvaluationWindows evaluation_windows(const Timeline& timeline, const RankEvidence& rank,
                                     const Window& train) {
  EvaluationWindows out;
  for (const Evaluation& evaluation : rank.log.evaluations) {
    const auto end = timeline.at(rank, evaluation.at);
    if (!end || *end > train.end + kStampResolution_s) continue;
    if (!evaluation.seconds) {
      out.untimed.push_back(*end);
      continue;
    }
    out.sum += *evaluation.seconds;
    out.windows.push_back({*end - *evaluation.seconds, *end});
  }
  std::ranges::sort(out.untimed);
  join_overlapping(out.windows);
  for (const Window& w : out.windows) out.covered += w.length();
  return out;
}

std::vector<Window> checkpoint_windows(const Timeline& timeline, const RankEvidence& rank,
                                       const Window& train) {
  std::vector<Window> out;
  const RankClock clock = timeline.clock(rank);
  for (const LoggedPhase& phase : rank.log.phases) {
    const auto end = phase.part == TimePart::checkpoint ? clock.at(phase.at) : std::nullopt;
    if (end && *end > train.start && *end <= train.end + kStampResolution_s)
      out.push_back({*end - phase.seconds, *end});
  }
  join_overlapping(out);
  return out;
}

void join_overlapping(std::vector<Window>& windows) {
  std::ranges::sort(windows, {}, &Window::start);
  std::vector<Window> joined;
  for (const Window& w : windows) {
    if (!joined.empty() && w.start <= joined.back().end)
      joined.back().end = std::max(joined.back().end, w.end);
    else
      joined.push_back(w);
  }
  windows = std::move(joined);
}

bool is_target_metric(std::string_view key, std::string_view target) {
  return to_lower(key) == to_lower(target) || bare(key) == bare(target);
}

bool meets(const plan::Target& target, double value) {
  return target.better == Better::lower ? value <= target.value : value >= target.value;
}

void compute_quality(RoundContext& round) {
  const std::optional<plan::Target>& target = round.plan.target;
  std::optional<double> reached_at;
  std::optional<double> best;
  bool seen = false;
  bool met = false;
  const auto look = [&](const std::string& key, double value) {
    if (!target || !is_target_metric(key, target->metric)) return false;
    seen = true;
    const bool better = !best || (target->better == Better::lower ? value < *best : value > *best);
    if (better) best = value;
    if (!meets(*target, value)) return false;
    met = true;
    return true;
  };

  const perflog::FinishedSummary* finished = nullptr;
  const Evaluation* last = nullptr;
  for (const RankEvidence& rank : round.evidence.ranks) {
    for (const Evaluation& evaluation : rank.log.evaluations)
      for (const auto& [key, value] : evaluation.values)
        if (look(key, value))
          if (const auto t = round.timeline.at(rank, evaluation.at))
            reached_at = std::min(reached_at.value_or(*t), *t);
    for (const auto& [key, value] : rank.log.finished_values) look(key, value);
    if (finished == nullptr && rank.log.finished) finished = &*rank.log.finished;
    if (last == nullptr && !rank.log.evaluations.empty()) last = &rank.log.evaluations.back();
  }

  if (finished != nullptr)
    for (const perflog::Quality& quality : finished->quality)
      if (!quality.name.ends_with("_bytes_per_s"))
        add_quality(round,
                    quality.name.starts_with("final_") ? quality.name : "final_" + quality.name,
                    quality.name, quality.value, Origin::reported, "by FINISHED");
  for (const RankEvidence& rank : round.evidence.ranks)
    if (rank.log.finished) {
      add_reported_rates(round, rank.log.finished_values);
      break;
    }
  if (last != nullptr)
    for (const auto& [key, value] : last->values)
      if (looks_like_quality(key) || (target && is_target_metric(key, target->metric)))
        add_quality(round, final_name(key), key, value, Origin::reported, "by the last EVALUATE");

  // FINISHED's `converged` means nothing without a target.
  if (!target) return;
  std::string detail;
  const std::string goal =
      fmt::format("{} {} {}", target->metric, target->better == Better::lower ? "≤" : "≥",
                  format_number(target->value));
  if (seen) {
    detail = fmt::format("target {}, best {}", goal, format_number(best.value_or(0)));
  } else if (finished != nullptr && finished->converged) {
    detail = fmt::format(
        "target {}; no EVALUATE or FINISHED reports it, and that FINISHED says converged: {} shows "
        "nothing",
        goal, *finished->converged);
  } else {
    detail = fmt::format("target {}, but no EVALUATE or FINISHED reports it", goal);
  }
  round.metrics.add("converged", met ? 1 : 0, Origin::measured, detail);
  round.fact("converged", met ? 1 : 0, detail);
  if (reached_at && round.train && !round.train_from_first_step &&
      *reached_at >= round.train->start)
    round.metrics.add("time_to_target", *reached_at - round.train->start, round.clock_origin, goal);
}

}  // namespace assay::judge
