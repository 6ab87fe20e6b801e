#include "compare/step_errors.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stats/bootstrap.h"
#include "stats/descriptive.h"

namespace assay::compare {

namespace {

constexpr std::size_t kDraws = 499;

}  // namespace

std::vector<double> step_errors(std::span<const judge::RoundResult* const> rounds) {
  if (rounds.empty()) return {};
  std::vector<double> sum(kDraws, 0);
  std::uint64_t seed = 0;
  for (const judge::RoundResult* round : rounds) {
    if (round->steady_steps.empty()) return {};
    // The rates of independent processes are added, so their errors are averaged.
    std::vector<double> of_round(kDraws, 0);
    const auto series = static_cast<double>(round->steady_steps.size());
    for (const std::vector<double>& seconds : round->steady_steps) {
      const std::vector<double> errors = stats::mean_errors(seconds, kDraws, ++seed);
      if (errors.empty()) return {};
      for (std::size_t i = 0; i < kDraws; ++i) of_round[i] += errors[i] / series;
    }
    for (std::size_t i = 0; i < kDraws; ++i)
      sum[i] += std::log1p(std::max(of_round[i], -0.99)) / static_cast<double>(rounds.size());
  }
  return sum;
}

std::optional<stats::Interval> steps_interval(double observed, bool of_time,
                                              std::span<const double> base,
                                              std::span<const double> candidate) {
  if (base.empty() || base.size() != candidate.size() || !(observed > -1)) return std::nullopt;
  std::vector<double> changes(base.size());
  // The draws of two sides must be independent even if both are the same run, so one is read
  // backwards.
  for (std::size_t i = 0; i < base.size(); ++i)
    changes[i] = candidate[candidate.size() - 1 - i] - base[i];
  const std::vector<double> ends = stats::percentiles(std::move(changes), std::array{2.5, 97.5});
  if (ends.size() != 2) return std::nullopt;
  const double middle = std::log1p(observed);
  return of_time ? stats::Interval{std::expm1(middle + ends[0]), std::expm1(middle + ends[1])}
                 : stats::Interval{std::expm1(middle - ends[1]), std::expm1(middle - ends[0])};
}

}  // namespace assay::compare
