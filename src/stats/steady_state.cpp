#include "stats/steady_state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/descriptive.h"
#include "stats/segmentation.h"

namespace assay::stats {

namespace {

constexpr std::size_t kMaxGroups = 128;
constexpr std::size_t kMinGroups = 5;
constexpr std::size_t kGroupSteps = 5;
constexpr std::size_t kMaxCorrelated = 4096;
/// Median absolute deviation of a normal distribution with standard deviation 1.
constexpr double kNormalMad = 0.6745;

/// A group of neighboring steps.
struct StepGroup {
  std::size_t first = 0;
  std::size_t end = 0;
  double level = 0;  ///< their median
};

using Regime = Segment;

std::vector<StepGroup> make_groups(std::span<const double> seconds, std::size_t warmup) {
  const std::size_t n = seconds.size() - warmup;
  const std::size_t count = std::clamp(n / kGroupSteps, kMinGroups, kMaxGroups);
  std::vector<StepGroup> groups;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = warmup + n * i / count;
    const std::size_t end = warmup + n * (i + 1) / count;
    groups.push_back({first, end, *median(seconds.subspan(first, end - first))});
  }
  return groups;
}

// Uses differences of groups up to three apart: those of neighbors alone are too small if steps
// depend on their predecessors.
double noise_variance(std::span<const StepGroup> groups) {
  double typical = 0;
  for (std::size_t apart = 1; apart <= 3; ++apart) {
    std::vector<double> differences;
    for (std::size_t i = apart; i < groups.size(); ++i)
      differences.push_back(std::abs(groups[i].level - groups[i - apart].level));
    typical = std::max(typical, median(differences).value_or(0));
  }
  const double sigma = typical / kNormalMad / std::sqrt(2.0);
  return sigma * sigma;
}

bool same_level(const Regime& a, const Regime& b, double noise) {
  // Uses the longer one's spread: a short part of a transient has the spread of its own slope.
  const double spread = std::max(noise, a.size() > b.size() ? a.stddev : b.stddev);
  const double error = spread * std::sqrt(1 / a.size() + 1 / b.size());
  const double limit = std::max(kSteadyTolerance * std::min(a.mean, b.mean), 4 * error);
  return std::abs(a.mean - b.mean) <= limit;
}

// Joins two regimes of the same level with what lies between, as long as it moves their mean by no
// more than the tolerance: a short disturbance does not end a level.
bool bridge(const Segmentation& segmentation, std::vector<Regime>& regimes, double noise) {
  for (std::size_t i = 1; i + 1 < regimes.size(); ++i) {
    if (!same_level(regimes[i - 1], regimes[i + 1], noise)) continue;
    const Regime all = segmentation.segment(regimes[i - 1].first, regimes[i + 1].end);
    const double level = std::min(regimes[i - 1].mean, regimes[i + 1].mean);
    if (std::abs(regimes[i].mean - level) * regimes[i].size() >
        kSteadyTolerance * level * all.size())
      continue;
    const auto at = regimes.begin() + static_cast<std::ptrdiff_t>(i);
    *(at - 1) = all;
    regimes.erase(at, at + 2);
    return true;
  }
  return false;
}

void merge_alike(const Segmentation& segmentation, double noise, std::vector<Regime>& regimes) {
  // Starts with the most similar neighbors: a staircase must not merge step by step from one side.
  while (regimes.size() > 1) {
    std::size_t closest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + 1 < regimes.size(); ++i) {
      const double apart = std::abs(regimes[i].mean - regimes[i + 1].mean);
      if (!same_level(regimes[i], regimes[i + 1], noise) || apart >= least) continue;
      least = apart;
      closest = i;
    }
    if (!std::isfinite(least)) break;
    regimes[closest] = segmentation.segment(regimes[closest].first, regimes[closest + 1].end);
    regimes.erase(regimes.begin() + static_cast<std::ptrdiff_t>(closest) + 1);
  }
}

std::vector<Regime> levels_of(std::span<const StepGroup> groups) {
  std::vector<double> levels;
  for (const StepGroup& group : groups) levels.push_back(group.level);
  const Segmentation segmentation(levels);
  const double variance = noise_variance(groups);
  const double noise = std::sqrt(variance);
  auto regimes = segmentation.segments(3 * std::log(static_cast<double>(groups.size())) * variance);
  do merge_alike(segmentation, noise, regimes);
  while (bridge(segmentation, regimes, noise));
  return regimes;
}

// The deviation of a step from `center` that noise cannot explain.
double odd_from(std::span<const double> seconds, double center) {
  std::vector<double> off;
  off.reserve(seconds.size());
  for (const double value : seconds) off.push_back(std::abs(value - center));
  return std::max(4 * median(off).value_or(0) / kNormalMad, 0.01 * center);
}

// A change can lie within a group, some of whose steps then belong to the other side.
void trim(std::span<const double> seconds, std::size_t most, SteadyState& state) {
  const auto inside = seconds.subspan(state.first, state.end - state.first);
  const double center = *median(inside);
  const double limit = odd_from(inside, center);
  const auto odd = [&](std::size_t i) { return std::abs(seconds[i] - center) > limit; };
  std::size_t first = state.first;
  std::size_t end = state.end;
  while (first < state.first + most && first + 1 < end && odd(first)) ++first;
  while (end > state.end - most && first + 1 < end && odd(end - 1)) --end;
  std::size_t others = 0;
  for (std::size_t i = first; i < end; ++i) others += odd(i) ? 1 : 0;
  if (others * 100 > end - first) return;
  state.first = first;
  state.end = end;
}

// Theil and Sen's slope over the groups, times their number, relative to the level; 0 if four
// standard errors explain it.
double drift_of(std::span<const StepGroup> groups) {
  std::vector<double> slopes;
  std::vector<double> levels;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    levels.push_back(groups[i].level);
    for (std::size_t k = i + 1; k < groups.size(); ++k)
      slopes.push_back((groups[k].level - groups[i].level) / static_cast<double>(k - i));
  }
  const double level = median(levels).value_or(0);
  if (slopes.empty() || level <= 0) return 0;
  const double slope = *median(slopes);
  const double count = static_cast<double>(groups.size());
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] -= slope * static_cast<double>(i);
  const double center = *median(levels);
  for (double& rest : levels) rest = std::abs(rest - center);
  const double error = *median(levels) / kNormalMad * std::sqrt(12 / count);
  const double change = slope * count;
  return std::abs(change) > 4 * error ? change / level : 0;
}

void add_levels(std::span<const double> seconds, SteadyState& state) {
  const auto inside = seconds.subspan(state.first, state.end - state.first);
  const double stall = kStallFactor * *median(inside);
  std::vector<double> kept;
  kept.reserve(inside.size());
  for (std::size_t i = state.first; i < state.end; ++i) {
    if (seconds[i] > stall)
      state.stalls.push_back(i);
    else
      kept.push_back(seconds[i]);
  }
  if (static_cast<double>(state.stalls.size()) >
      kMaxStallShare * static_cast<double>(inside.size())) {
    state.stalls.clear();
    kept.assign(inside.begin(), inside.end());
  }
  state.mean = *mean(kept);
  state.median = *median(kept);
  state.interval = autocorrelated_mean_interval(kept);
}

// Finds the last lasting level; leaves the state unchanged if there is none.
void find_level(std::span<const double> seconds, std::size_t warmup, SteadyState& state) {
  const std::vector<StepGroup> groups = make_groups(seconds, warmup);
  const std::vector<Regime> regimes = levels_of(groups);
  const double least = kMinSteadyShare * static_cast<double>(groups.size());
  const auto steady = std::find_if(regimes.rbegin(), regimes.rend(),
                                   [&](const Regime& regime) { return regime.size() >= least; });
  const bool last =
      steady != regimes.rend() && static_cast<double>(groups.size() - steady->end) <=
                                      kMaxTailShare * static_cast<double>(groups.size());
  if (!last) {
    state.settling = Settling::no_level;
    return;
  }
  state.drift = drift_of(std::span(groups).subspan(steady->first, steady->end - steady->first));
  if (std::abs(state.drift) > kDriftTolerance) state.settling = Settling::drifts;
  SteadyState found{state.settling, groups[steady->first].first, groups[steady->end - 1].end};
  trim(seconds, groups.front().end - groups.front().first, found);
  if (found.end - found.first < kMinSteadySteps) {
    state.settling = Settling::too_few;
    return;
  }
  state.first = found.first;
  state.end = found.end;
}

}  // namespace

std::optional<SteadyState> find_steady_state(std::span<const double> seconds, std::size_t warmup) {
  if (seconds.size() <= warmup || !mean(seconds.subspan(warmup))) return std::nullopt;
  SteadyState state{Settling::settled, warmup, seconds.size()};
  if (seconds.size() - warmup < kMinSteadySteps)
    state.settling = Settling::too_few;
  else
    find_level(seconds, warmup, state);
  add_levels(seconds, state);
  return state;
}

std::optional<Interval> autocorrelated_mean_interval(std::span<const double> all, double level) {
  const std::size_t batch = (all.size() + kMaxCorrelated - 1) / kMaxCorrelated;
  std::vector<double> values;
  for (std::size_t i = 0; batch > 0 && i + batch <= all.size(); i += batch)
    values.push_back(mean(all.subspan(i, batch)).value_or(0));
  const std::size_t n = values.size();
  const auto center = mean(values);
  if (n < 4 || !center) return std::nullopt;
  const auto covariance = [&](std::size_t lag) {
    double sum = 0;
    for (std::size_t i = lag; i < n; ++i)
      sum += (values[i] - *center) * (values[i - lag] - *center);
    return sum / static_cast<double>(n);
  };
  const double variance = covariance(0);
  if (variance <= 0) return Interval{*center, *center};
  double tau = -1;
  double previous = 1;  // at lag 0
  for (std::size_t lag = 1; lag < n / 2; lag += 2) {
    const double pair = previous + covariance(lag) / variance;
    if (pair <= 0) break;
    tau += 2 * pair;
    previous = covariance(lag + 1) / variance;
  }
  tau = std::max(tau, 1.0);
  const double count = static_cast<double>(n) / tau;
  const auto t = count < 2 ? std::nullopt : student_t_quantile(1 - (1 - level) / 2, count - 1);
  if (!t) return std::nullopt;
  const double unbiased = variance * static_cast<double>(n) / static_cast<double>(n - 1);
  const double half = *t * std::sqrt(unbiased / count);
  return Interval{*center - half, *center + half};
}

}  // namespace assay::stats
