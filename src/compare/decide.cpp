#include "compare/decide.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace assay::compare {

namespace {

bool within(const stats::Interval& interval, const stats::Interval& range) {
  return interval.low >= range.low && interval.high <= range.high;
}

bool on_one_side(const stats::Interval& interval, double change) {
  return change > 0 ? interval.low > 0 : interval.high < 0;
}

std::string span_text(const stats::Interval& interval) {
  return fmt::format("{:+.2g} … {:+.2g} %", interval.low * 100, interval.high * 100);
}

std::string unsure_note(const MetricChange& change, bool rounds_agree, double tolerance) {
  if (!change.level.interval) {
    const std::string one = change.base.size() == 1 && change.candidate.size() == 1
                                ? "one round on each side says nothing about the spread"
                                : "one round against others that are all equal shows no spread";
    const std::string steps =
        change.steps
            ? fmt::format(" (by their steps these rounds differ by {})", span_text(*change.steps))
            : "";
    return one + steps + "; repeat the case 5 times";
  }
  if (rounds_agree)
    return fmt::format(
        "the rounds agree, but by their steps it is {}; longer rounds would decide it",
        span_text(*change.steps));
  const double wanted = std::max(tolerance, std::abs(change.level.change));
  if (!(wanted > 0)) return "no number of rounds shows that nothing changed; allow a tolerance";
  constexpr int kMost = 1000;
  const int needed = stats::values_to_decide(change.level.spread, wanted, kMost);
  const auto have = static_cast<int>(std::min(change.base.size(), change.candidate.size()));
  return fmt::format(
      "with a spread of {:.2g} % {} rounds on each side tell a change of {:.2g} % from none; there "
      "are {}",
      change.level.spread * 100,
      needed >= kMost ? "more than 1000" : fmt::format("about {}", std::max(needed, have + 1)),
      wanted * 100, have);
}

// docs/compare.md describes how the tests together produce a verdict.
void decide(MetricChange& change, const Options& options) {
  const stats::LevelChange& level = change.level;
  const stats::Interval range =
      change.tolerated.value_or(stats::Interval{-options.tolerance, options.tolerance});
  const bool rounds_same = level.interval && within(*level.interval, range);
  const bool rounds_differ = level.interval && change.adjusted_p < options.level &&
                             level.rank_p.value_or(0) < options.level;
  if (rounds_same && (!change.steps || within(*change.steps, range))) {
    change.verdict = Verdict::same;
  } else if (!rounds_same && rounds_differ && change.info.better != Better::neither &&
             (!change.steps || on_one_side(*change.steps, level.change))) {
    change.verdict = (level.change > 0) == (change.info.better == Better::higher) ? Verdict::better
                                                                                  : Verdict::worse;
  } else {
    change.note =
        unsure_note(change, change.steps && (rounds_same || rounds_differ), options.tolerance);
  }
}

}  // namespace

// The headlines form one family of tests and all other metrics another: asking for more metrics
// must not hide what the headlines show.
void decide_all(Comparisons& comparison) {
  for (const bool headline : {true, false}) {
    std::vector<MetricChange*> family;
    std::vector<double> p_values;
    for (Comparison& side : comparison.sides)
      for (CaseChange& change : side.cases)
        for (MetricChange& metric : change.metrics)
          if (metric.headline == headline) {
            family.push_back(&metric);
            p_values.push_back(metric.level.p_value);
          }
    const std::vector<double> adjusted = stats::holm(p_values);
    for (std::size_t i = 0; i < family.size(); ++i) {
      family[i]->adjusted_p = adjusted[i];
      decide(*family[i], comparison.options);
    }
  }
}

}  // namespace assay::compare
