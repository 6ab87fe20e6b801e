#include "judge/expectations.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_error.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/units.h"
#include "judge/case_identity.h"
#include "plan/effective_settings.h"

namespace assay::judge {

namespace {

constexpr std::size_t kNamedKinds = 3;

std::string known_kinds(const baseline::Baseline& baseline, const std::string& name) {
  std::vector<std::string> kinds = baseline.hardware_of(name);
  const std::size_t all = kinds.size();
  kinds.resize(std::min(all, kNamedKinds));
  std::string out = join(kinds, "; ");
  if (all > kNamedKinds) out += fmt::format("; and {} more", all - kNamedKinds);
  return printable(out);
}

// How far a value is outside the range; relative, if there is something to relate it to.
double beyond(const baseline::Metric& metric, double value) {
  const double by = value < metric.low ? metric.low - value : value - metric.high;
  return metric.median == 0 ? by : by / std::abs(metric.median);
}

std::string in_numbers(const baseline::Metric& metric, double value,
                       const baseline::CaseEntry& entry) {
  const std::string unit = metric.unit.empty() || metric.unit == "1" ? "" : " " + metric.unit;
  const std::string off = metric.median == 0 ? ""
                                             : fmt::format(", {:+.1f} % from the median",
                                                           (value / metric.median - 1) * 100);
  return fmt::format("{} is {}{}{}; expected are {} to {} (median {} of {} in {})", metric.name,
                     format_number(value), unit, off, format_number(metric.low),
                     format_number(metric.high), format_number(metric.median),
                     counted(entry.rounds, "round"), counted(entry.runs.size(), "run"));
}

// Combines the facts of several metrics: the largest value, and a description of each.
struct Gathered {
  double most = 0;
  std::vector<std::string> seen{};

  void add(double value, std::string text) {
    most = std::max(most, value);
    seen.push_back(std::move(text));
  }
};

}  // namespace

Expectations::Expectations(const plan::Plan& plan)
    : given_(plan.baseline.has_value()), suite_file_(plan.suite_file) {
  if (!given_) return;
  try {
    if (sha256(plan.baseline->text) != plan.baseline->sha256)
      problem_ = "the plan's copy of it does not fit its hash";
    else
      baseline_ = baseline::parse(plan.baseline->text, plan.baseline->file);
  } catch (const std::exception& error) {
    problem_ = printable(plain_error(error));
  }
}

std::optional<ExpectedCase> Expectations::of(const plan::CasePlan& case_plan,
                                             const Json& system) const {
  if (!given_) return std::nullopt;
  if (!problem_.empty()) return ExpectedCase{nullptr, problem_};
  const std::string name = case_identity(case_plan);
  const std::string hardware = hardware_kind(system, case_plan.nodes);
  if (hardware.empty()) return ExpectedCase{nullptr, "nothing says which hardware it ran on"};
  const baseline::CaseEntry* entry = baseline_.find(name, hardware);
  if (entry == nullptr) {
    const std::string known = known_kinds(baseline_, name);
    return ExpectedCase{nullptr, known.empty() ? "it has no entry for the case"
                                               : "it has no entry for this hardware, " + hardware +
                                                     "; it has one for: " + known};
  }
  const std::string other =
      work_difference(entry->work, work_of(plan::effective_settings(case_plan, suite_file_)));
  if (!other.empty()) return ExpectedCase{nullptr, "its entry is about other work: " + other};
  return ExpectedCase{entry, {}};
}

void state_expected(const ExpectedCase& expected, const CaseResult& result, Facts& facts) {
  // Without a completed round there is nothing to compare; other rules say so.
  if (result.summary.empty()) return;
  if (expected.entry == nullptr) {
    state(facts, "baseline_unknown", 1, expected.absent);
    return;
  }
  Gathered unknown;
  Gathered worse;
  Gathered better;
  for (const baseline::Metric& metric : expected.entry->metrics) {
    if (!metric.judged) continue;
    const auto found = std::ranges::find(
        result.summary, metric.name,
        [](const Summary& summary) -> const std::string& { return summary.info.name; });
    if (found == result.summary.end()) {
      unknown.add(1, "no round has " + metric.name);
    } else if (found->info.unit != metric.unit) {
      unknown.add(1, fmt::format("{} is in {} here, and in {} there", metric.name, found->info.unit,
                                 metric.unit));
    } else if (metric.is_worse(found->median)) {
      worse.add(beyond(metric, found->median), in_numbers(metric, found->median, *expected.entry));
    } else if (metric.is_better(found->median)) {
      better.add(beyond(metric, found->median), in_numbers(metric, found->median, *expected.entry));
    }
  }
  if (std::ranges::none_of(expected.entry->metrics, &baseline::Metric::judged))
    unknown.add(1, "none of the metrics of its entry is judged");
  state(facts, "baseline_unknown", unknown.most, join(unknown.seen, "; "));
  state(facts, "baseline_worse", worse.most, join(worse.seen, "; "));
  state(facts, "baseline_better", better.most, join(better.seen, "; "));
}

}  // namespace assay::judge
