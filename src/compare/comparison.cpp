#include "compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "compare/baseline_side.h"
#include "compare/decide.h"
#include "compare/differences.h"
#include "compare/step_errors.h"
#include "core/error.h"
#include "core/parallel.h"
#include "judge/case_identity.h"
#include "judge/rules.h"

namespace assay::compare {

namespace {

// A case of one side, over all its runs.
struct SideCase {
  std::vector<const judge::CaseResult*> results{};
  std::vector<const judge::RunResult*> runs{};      // the run of each result
  std::vector<const judge::RoundResult*> rounds{};  // completed ones
  bool of_baseline = false;
  const baseline::CaseEntry* entry = nullptr;           // the baseline's, for this hardware
  mutable std::optional<std::vector<double>> errors{};  // of the steps in all rounds
  [[nodiscard]] const judge::CaseResult& first() const { return *results.front(); }
};

struct SideCases {
  std::vector<std::string> order{};
  std::map<std::string, SideCase> cases{};
};

SideCases cases_of(std::span<const judge::RunResult> runs) {
  SideCases out;
  for (const judge::RunResult& run : runs)
    for (const judge::CaseResult& result : run.cases) {
      const std::string key = judge::case_identity(result);
      SideCase& entry = out.cases[key];
      if (entry.results.empty()) out.order.push_back(key);
      entry.results.push_back(&result);
      entry.runs.push_back(&run);
      for (const judge::RoundResult& round : result.rounds)
        if (round.status == RoundStatus::completed) entry.rounds.push_back(&round);
    }
  return out;
}

// A baseline in the form of a side's runs, for the other side's hardware.
class BaselineSide {
 public:
  BaselineSide(const Side& side, const judge::RunResult& other)
      : run_(run_of(*side.baseline, other)), cases_(cases_of(std::span(&run_, 1))) {
    for (auto& [name, one] : cases_.cases) {
      one.of_baseline = true;
      one.entry = entry_of(*side.baseline, name, other);
    }
  }
  BaselineSide(const BaselineSide&) = delete;
  BaselineSide& operator=(const BaselineSide&) = delete;
  [[nodiscard]] const SideCases& cases() const noexcept { return cases_; }

 private:
  judge::RunResult run_;
  SideCases cases_;  // from run_
};

const judge::Metric* metric_of(const judge::RoundResult& round, const std::string& name) {
  const auto found = std::ranges::find(
      round.metrics, name, [](const judge::Metric& m) { return std::string_view(m.info.name); });
  return found == round.metrics.end() ? nullptr : &*found;
}

const judge::Summary* summary_of(const judge::CaseResult& result, const std::string& name) {
  const auto found = std::ranges::find(
      result.summary, name, [](const judge::Summary& s) { return std::string_view(s.info.name); });
  return found == result.summary.end() ? nullptr : &*found;
}

std::vector<double> values_of(const SideCase& side, const std::string& metric) {
  std::vector<double> out;
  for (const judge::RoundResult* round : side.rounds)
    if (const judge::Metric* found = metric_of(*round, metric)) out.push_back(found->value);
  return out;
}

// Whether the metric is computed from steps, so that every round has an interval over its steps.
bool from_steps(const SideCase& side, const std::string& metric) {
  return std::ranges::all_of(side.rounds, [&](const judge::RoundResult* round) {
    const judge::Metric* found = metric_of(*round, metric);
    return found != nullptr && found->ci95_low && found->ci95_high;
  });
}

const std::vector<double>& errors_of(const SideCase& side) {
  if (!side.errors) side.errors = step_errors(side.rounds);
  return *side.errors;
}

std::string not_set(const std::string& text) {
  return text.empty() ? "not set" : text;
}

// Cases that did different work cannot be compared.
std::string other_work(const judge::CaseResult& base, const judge::CaseResult& candidate) {
  const std::string what = judge::work_difference(judge::work_of(base.configuration),
                                                  judge::work_of(candidate.configuration));
  return what.empty() ? what : "not the same work: " + what;
}

// ": " and the first finding that caused the verdict.
std::string because(std::span<const judge::Finding> findings) {
  for (const judge::Finding& finding : findings)
    if (finding.severity >= judge::Severity::incomplete) return ": " + finding.reason;
  return {};
}

std::string why_not_valid(const judge::CaseResult& result) {
  std::string out = because(result.findings);
  for (const judge::RoundResult& round : result.rounds)
    if (out.empty()) out = because(round.findings);
  return out;
}

// Why a side's results do not count; empty if they do.
std::string not_valid(const SideCase& side, std::string_view who) {
  for (std::size_t i = 0; i < side.results.size(); ++i) {
    const judge::RunResult& run = *side.runs[i];
    if (const judge::Validity whole = judge::verdict(run.findings); whole != judge::Validity::valid)
      return fmt::format("{} is of a run that is {}{}", who, to_string(whole),
                         because(run.findings));
    const judge::CaseResult& result = *side.results[i];
    if (result.validity != judge::Validity::valid)
      return fmt::format("{} is {}{}", who, to_string(result.validity), why_not_valid(result));
  }
  return {};
}

// Runs of one side that did different work must not be combined.
std::string mixed_work(const SideCase& side, std::string_view who) {
  for (const judge::CaseResult* other : side.results) {
    const std::string why = other_work(side.first(), *other);
    if (!why.empty()) return fmt::format("runs of {} have {}", who, why);
  }
  return {};
}

// Why a side's values cannot be combined with each other or with the base's; empty if they can.
std::string not_alike(const judge::Summary& base, const SideCase& side) {
  for (std::size_t i = 0; i < side.results.size(); ++i) {
    const judge::Summary* one = summary_of(*side.results[i], base.info.name);
    if (one == nullptr && !side.results[i]->summary.empty())
      return fmt::format("the run {} does not have it", side.runs[i]->run_id);
    if (one == nullptr) continue;  // none of its rounds completed
    if (one->info.unit != base.info.unit)
      return fmt::format("the units differ: {} and {}", not_set(base.info.unit),
                         not_set(one->info.unit));
    if (one->info.better != base.info.better)
      return fmt::format("better is {} in one run and {} in another", to_text(base.info.better),
                         to_text(one->info.better));
  }
  return {};
}

// Why the metric has no change; empty if it has one.
std::string why_left_out(const MetricChange& change) {
  if (change.base.empty()) return "no round of the base has it";
  if (change.candidate.empty()) return "no round of the new one has it";
  const auto finite = [](double v) { return std::isfinite(v); };
  if (!std::ranges::all_of(change.base, finite) || !std::ranges::all_of(change.candidate, finite))
    return "a value is not a number";
  return "the base's is 0, so that there is no relative change";
}

// The range tolerated by the side that is a baseline.
std::optional<stats::Interval> tolerated_by(const SideCase& base, const SideCase& candidate,
                                            const std::string& name) {
  const baseline::CaseEntry* entry = base.entry != nullptr ? base.entry : candidate.entry;
  const baseline::Metric* metric = entry == nullptr ? nullptr : entry->find(name);
  if (metric == nullptr || !(metric->median > 0)) return std::nullopt;
  const stats::Interval range{metric->low / metric->median - 1, metric->high / metric->median - 1};
  // If the baseline is the new side, the change of the base is the inverse.
  if (base.entry != nullptr) return range;
  return stats::Interval{-range.high, -range.low};
}

void compare_metrics(const SideCase& base, const SideCase& candidate, const Options& options,
                     CaseChange& out) {
  const std::string& headline = base.first().headline;
  for (const judge::Summary& summary : base.first().summary) {
    const std::string& name = summary.info.name;
    const bool is_headline = name == headline;
    const bool asked =
        options.all_metrics || std::ranges::any_of(options.metrics, [&](const std::string& given) {
          return is_named(name, given);
        });
    if (!is_headline && (!asked || summary.info.better == Better::neither)) continue;
    MetricChange change{summary.info, is_headline};
    change.base = values_of(base, name);
    change.candidate = values_of(candidate, name);
    std::string differs = not_alike(summary, base);
    if (differs.empty() && !change.candidate.empty()) differs = not_alike(summary, candidate);
    const auto level =
        differs.empty() ? stats::level_change(change.base, change.candidate) : std::nullopt;
    if (!level) {
      out.left_out.push_back({name, differs.empty() ? why_left_out(change) : differs});
      continue;
    }
    change.level = *level;
    change.tolerated = tolerated_by(base, candidate, name);
    if (from_steps(base, name) && from_steps(candidate, name))
      change.steps = steps_interval(level->change, summary.info.unit == "s", errors_of(base),
                                    errors_of(candidate));
    if (is_headline)
      out.metrics.insert(out.metrics.begin(), std::move(change));
    else
      out.metrics.push_back(std::move(change));
  }
}

std::string no_headline(const CaseChange& change, const std::string& headline) {
  if (headline.empty()) return "it has no headline";
  for (const LeftOut& left : change.left_out)
    if (left.metric == headline) return headline + ": " + left.why;
  return "a side has no round with " + headline;
}

// Why a side did not run the case; nullptr if it did.
const judge::Skip* skip_of(const SideCase& side) {
  for (const judge::CaseResult* result : side.results)
    if (result->skipped) return &*result->skipped;
  return nullptr;
}

CaseChange compare_case(const std::string& name, const SideCase& base, const SideCase* candidate,
                        const Options& options) {
  CaseChange change{name};
  if (candidate == nullptr) {
    change.refused = "only in the base";
    return change;
  }
  const judge::Skip* before = skip_of(base);
  const judge::Skip* now = skip_of(*candidate);
  if (before != nullptr || now != nullptr) {
    change.refused =
        fmt::format("{} skipped it: {}", before != nullptr ? "the base" : "the new one",
                    (before != nullptr ? before : now)->reason);
    change.not_meant = before != nullptr && now != nullptr &&
                       before->cause == plan::SkipCause::condition &&
                       now->cause == plan::SkipCause::condition;
    return change;
  }
  for (const SideCase* side : {&base, candidate})
    if (side->of_baseline && side->entry == nullptr)
      change.refused = side->first().findings.front().reason;
  if (!change.refused.empty()) return change;
  // A baseline stores the work, but no other settings.
  if (!base.of_baseline && !candidate->of_baseline)
    change.differences = case_differences(base.first(), candidate->first());
  for (const std::string& why :
       {other_work(base.first(), candidate->first()), mixed_work(base, "the base"),
        mixed_work(*candidate, "the new side")})
    if (change.refused.empty()) change.refused = why;
  for (const std::string& why :
       {not_valid(base, "the base"), not_valid(*candidate, "the new one")}) {
    if (why.empty()) continue;
    if (options.invalid_too)
      change.warning += (change.warning.empty() ? "" : "; ") + why;
    else if (change.refused.empty())
      change.refused = why;
  }
  if (!change.refused.empty()) return change;
  compare_metrics(base, *candidate, options, change);
  if (change.metrics.empty() || !change.metrics.front().headline) {
    change.refused = no_headline(change, base.first().headline);
    change.metrics.clear();
  }
  return change;
}

std::vector<CaseChange> compare_cases(const SideCases& base, const SideCases& candidate,
                                      const Options& options) {
  std::vector<CaseChange> out(base.order.size());
  run_parallel(out.size(), 0, {}, [&](std::size_t i, const std::stop_token&) {
    const std::string& key = base.order[i];
    const auto found = candidate.cases.find(key);
    out[i] = compare_case(key, base.cases.at(key),
                          found == candidate.cases.end() ? nullptr : &found->second, options);
  });
  for (const std::string& key : candidate.order)
    if (!base.cases.contains(key)) {
      out.push_back({key, "only in the new runs"});
      out.back().only_new = true;
    }
  return out;
}

std::vector<std::string> run_ids(std::span<const judge::RunResult> runs) {
  std::vector<std::string> out;
  for (const judge::RunResult& run : runs) out.push_back(run.run_id);
  return out;
}

}  // namespace

Comparisons compare_sides(const Side& base, std::span<const Side> others, const Options& options) {
  Comparisons out{base.name, run_ids(base.runs), {}, options};
  const SideCases before = cases_of(base.runs);
  for (const Side& side : others) {
    if (base.baseline && side.baseline)
      throw Error(ErrorKind::usage, "two baselines have no rounds to compare", side.name,
                  "compare a run with a baseline");
    Comparison change{side.name, run_ids(side.runs), {}, {}, options};
    if (base.baseline || side.baseline) {
      const BaselineSide file(base.baseline ? base : side,
                              (base.baseline ? side : base).runs.at(0));
      change.cases = base.baseline ? compare_cases(file.cases(), cases_of(side.runs), options)
                                   : compare_cases(before, file.cases(), options);
    } else {
      change.differences = run_differences(base.runs, side.runs);
      change.cases = compare_cases(before, cases_of(side.runs), options);
    }
    out.sides.push_back(std::move(change));
  }
  decide_all(out);
  return out;
}

bool is_named(const std::string& metric, const std::string& name) {
  return metric == name || (name == "throughput" && metric == "steady_throughput");
}

std::string verdict_word(const MetricChange& change) {
  const bool speed = change.info.unit == "s" || change.info.unit.ends_with("/s") ||
                     change.info.unit.ends_with("/s/device") || change.info.unit == "OPS";
  switch (change.verdict) {
    case Verdict::better:
      return speed ? "FASTER" : "BETTER";
    case Verdict::worse:
      return speed ? "SLOWER" : "WORSE";
    case Verdict::same:
      return "SAME";
    case Verdict::unsure:
      break;
  }
  return "UNSURE";
}

}  // namespace assay::compare
