#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "judge/repeat_state.h"
#include "stats/descriptive.h"

namespace assay::judge {

namespace {

// Uncached files, uncompiled kernels and links that are not up yet lengthen these parts: everything
// up to the end of the first step.
constexpr std::array kBeforeSteps{TimePart::launch,      TimePart::start,     TimePart::device,
                                  TimePart::join,        TimePart::data,      TimePart::model,
                                  TimePart::preparation, TimePart::first_step};
// A start that exceeds the longest of the others by less than this is within their spread.
constexpr double kColder_s = 1;
constexpr double kColder = 1.5;
// Slower steps than this make the round slow rather than cold.
constexpr double kAsFast = 1.05;
// Parts with a smaller share of the difference are not named.
constexpr double kNamedShare = 0.1;

double seconds_of(const RoundResult& round, TimePart part) {
  const auto found = std::ranges::find(round.time_shares, part, &TimeShare::part);
  return found == round.time_shares.end() ? 0 : found->seconds;
}

double before_steps(const RoundResult& round) {
  double sum = 0;
  for (const TimePart part : kBeforeSteps) sum += seconds_of(round, part);
  return sum;
}

std::optional<double> step_time(const RoundResult& round) {
  for (const Metric& metric : round.metrics)
    if (metric.info.name == "step_time_p50") return metric.value;
  return std::nullopt;
}

std::string shown_seconds(double seconds) {
  return format_duration(from_seconds(seconds));
}

}  // namespace

std::optional<ColdStart> find_cold_start(const CaseResult& result) {
  if (result.rounds.size() < 2) return std::nullopt;
  const RoundResult& first = result.rounds.front();
  std::vector<const RoundResult*> others;
  std::vector<double> starts;
  std::vector<double> steps;
  for (std::size_t i = 1; i < result.rounds.size(); ++i) {
    const RoundResult& round = result.rounds[i];
    const auto step = step_time(round);
    if (round.status != RoundStatus::completed || round.time_shares.empty() || !step) continue;
    others.push_back(&round);
    starts.push_back(before_steps(round));
    steps.push_back(*step);
  }
  const auto step = step_time(first);
  if (first.status != RoundStatus::completed || first.time_shares.empty() || !step ||
      others.empty() || *step > kAsFast * *stats::median(steps))
    return std::nullopt;
  const double longest = *std::ranges::max_element(starts);
  const double own = before_steps(first);
  if (own < longest + kColder_s || own < kColder * longest) return std::nullopt;

  ColdStart cold;
  cold.seconds = own - *stats::median(starts);
  std::vector<std::pair<double, TimePart>> longer;
  for (const TimePart part : kBeforeSteps) {
    std::vector<double> usual;
    for (const RoundResult* round : others) usual.push_back(seconds_of(*round, part));
    const double more = seconds_of(first, part) - *stats::median(usual);
    if (more >= kNamedShare * cold.seconds) longer.emplace_back(more, part);
  }
  std::ranges::sort(longer, std::greater{});
  std::vector<std::string> causes;
  for (const auto& [more, part] : longer)
    causes.push_back(fmt::format("{} {}", to_lower(title_of(part)), shown_seconds(more)));
  cold.text = fmt::format(
      "round {} began cold: to the end of its first step it took {} longer than the others ({}), "
      "and "
      "its steps were as fast as theirs",
      first.round, shown_seconds(cold.seconds), join(causes, ", "));
  return cold;
}

}  // namespace assay::judge
