#include "compare/make_baseline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "core/units.h"
#include "core/version.h"
#include "judge/case_identity.h"
#include "stats/descriptive.h"
#include "stats/student.h"

namespace assay::compare {

namespace {

using baseline::CaseEntry;
using judge::CaseResult;
using judge::RoundResult;
using judge::RunResult;

constexpr std::size_t kSpreadValues = 3;
constexpr double kUnknownSpread = 0.1;
constexpr double kWideRange = 0.15;

// A case on one kind of hardware, from all runs.
struct Collected {
  CaseEntry entry;
  std::vector<const CaseResult*> results;
  std::vector<const RunResult*> runs;
};

Error refused(const RunResult& run, const std::string& what, const std::string& advice) {
  return {ErrorKind::usage, what, run.run_id, advice};
}

std::string why_not_valid(const RunResult& run) {
  for (const CaseResult& one : run.cases)
    if (one.validity != judge::Validity::valid)
      return fmt::format("the case {} is {}", one.name, to_string(one.validity));
  for (const judge::Finding& finding : run.findings)
    if (finding.severity >= judge::Severity::incomplete) return finding.reason;
  return "it has no cases";
}

int completed_rounds(const CaseResult& result) {
  return static_cast<int>(
      std::ranges::count(result.rounds, RoundStatus::completed, &RoundResult::status));
}

void take_case(const RunResult& run, const CaseResult& result, std::vector<Collected>& all) {
  const int rounds = completed_rounds(result);
  if (rounds == 0) return;
  const std::string name = judge::case_identity(result);
  const std::string hardware = judge::hardware_kind(run.system, result.nodes);
  if (hardware.empty())
    throw refused(run, "nothing says on which hardware the case " + name + " ran",
                  "a baseline needs a run with a system.json that describes every node");
  const auto work = judge::work_of(result.configuration);
  auto found = std::ranges::find_if(all, [&](const Collected& one) {
    return one.entry.name == name && one.entry.hardware == hardware;
  });
  if (found == all.end()) {
    Collected fresh;
    fresh.entry.name = name;
    fresh.entry.hardware = hardware;
    fresh.entry.nodes = result.nodes;
    fresh.entry.procs = result.procs;
    fresh.entry.work = work;
    all.push_back(std::move(fresh));
    found = all.end() - 1;
  } else if (const std::string other = judge::work_difference(found->entry.work, work);
             !other.empty()) {
    throw refused(run,
                  fmt::format("the case {} did not do the same work as in {}: {}", name,
                              found->entry.runs.front(), other),
                  "give one of the cases another name, or make a baseline of each");
  }
  found->entry.rounds += rounds;
  found->entry.runs.push_back(run.run_id);
  found->results.push_back(&result);
  found->runs.push_back(&run);
}

std::vector<double> values_over(const Collected& collected, const MetricInfo& info) {
  std::vector<double> out;
  for (std::size_t i = 0; i < collected.results.size(); ++i)
    for (const RoundResult& round : collected.results[i]->rounds) {
      if (round.status != RoundStatus::completed) continue;
      for (const judge::Metric& metric : round.metrics) {
        if (metric.info.name != info.name) continue;
        if (metric.info.unit != info.unit)
          throw refused(*collected.runs[i],
                        fmt::format("{} of the case {} is in {}, in {} it is in {}", info.name,
                                    collected.entry.name, metric.info.unit,
                                    collected.entry.runs.front(), info.unit),
                        "make a baseline of each");
        out.push_back(metric.value);
      }
    }
  return out;
}

baseline::Metric metric_of(const MetricInfo& info, std::vector<double> values, double tolerance) {
  baseline::Metric out{info.name, info.unit, info.better};
  out.median = *stats::median(values);
  const double half = tolerated_half_width(values, tolerance);
  out.low = out.median - half;
  out.high = out.median + half;
  // Rates and times cannot be negative.
  if (*std::ranges::min_element(values) >= 0) out.low = std::max(out.low, 0.0);
  out.values = std::move(values);
  return out;
}

void note_range(const CaseEntry& entry, const baseline::Metric& metric, double tolerance,
                std::vector<std::string>& notes) {
  const std::size_t n = metric.values.size();
  if (n < kSpreadValues) {
    notes.push_back(fmt::format(
        "{}: {} says nothing certain about the spread of {}; its range is ± {:.0f} % until there "
        "are {} rounds",
        entry.name, counted(n, "round"), metric.name,
        metric.median == 0 ? 0 : (metric.high - metric.median) / std::abs(metric.median) * 100,
        kSpreadValues));
    return;
  }
  if (metric.median == 0) return;
  const double share = (metric.high - metric.median) / std::abs(metric.median);
  if (share > std::max(kWideRange, tolerance * 1.001))
    notes.push_back(fmt::format(
        "{}: {} may be {:.0f} % off its median, because {} differ by {:.1f} % (standard "
        "deviation); more rounds, or a quieter machine, make the range narrower",
        entry.name, metric.name, share * 100, counted(n, "round"),
        stats::cv(metric.values).value_or(0) * 100));
}

void fill_metrics(Collected& collected, const BaselineOptions& options, std::set<std::string>& used,
                  std::vector<std::string>& notes) {
  const std::string& headline = collected.results.front()->headline;
  std::set<std::string> seen;
  for (const CaseResult* result : collected.results)
    for (const judge::Summary& summary : result->summary) {
      const MetricInfo& info = summary.info;
      if (info.better == Better::neither || !seen.insert(info.name).second) continue;
      const bool asked = std::ranges::find(options.metrics, info.name) != options.metrics.end();
      const bool judged = asked || info.name == headline;
      if (asked) used.insert(info.name);
      if (options.judged_only && !judged) continue;
      std::vector<double> values = values_over(collected, info);
      if (values.empty()) continue;
      baseline::Metric metric = metric_of(info, std::move(values), options.tolerance);
      metric.judged = judged;
      if (judged) note_range(collected.entry, metric, options.tolerance, notes);
      collected.entry.metrics.push_back(std::move(metric));
    }
  if (std::ranges::none_of(collected.entry.metrics, &baseline::Metric::judged))
    notes.push_back(collected.entry.name + ": it has no headline, so nothing of it is judged");
}

}  // namespace

double tolerated_half_width(std::span<const double> values, double tolerance) {
  const double level = std::abs(stats::median(values).value_or(0));
  const double least = tolerance * level;
  const auto n = static_cast<double>(values.size());
  if (values.size() < kSpreadValues) {
    // Two values show that at least this distance between them is possible.
    const auto [low, high] = std::ranges::minmax(values);
    return std::max({least, kUnknownSpread * level, high - low});
  }
  const double spread = stats::stddev(values).value_or(0);
  const double t = stats::student_t_quantile(0.995, n - 1).value_or(0);
  return std::max(least, t * spread * std::sqrt(1 + 1 / n));
}

BaselineMaking make_baseline(std::span<const RunResult> runs, const BaselineOptions& options) {
  std::set<std::string> ids;
  std::vector<Collected> all;
  for (const RunResult& run : runs) {
    if (!ids.insert(run.run_id).second)
      throw refused(run, "the run is given twice", "give each run once");
    if (!options.invalid_too && run.validity != judge::Validity::valid)
      throw refused(
          run, fmt::format("the run is {}: {}", to_string(run.validity), why_not_valid(run)),
          "a baseline is made of VALID runs; '--invalid-too' takes this one all the same");
    for (const CaseResult& result : run.cases) take_case(run, result, all);
  }
  BaselineMaking out;
  out.baseline.assay_version = version_string();
  std::set<std::string> used;
  for (Collected& collected : all) {
    fill_metrics(collected, options, used, out.notes);
    if (collected.entry.metrics.empty()) continue;
    out.baseline.entries.push_back(std::move(collected.entry));
  }
  for (const std::string& metric : options.metrics)
    if (!used.contains(metric))
      throw Error(ErrorKind::usage,
                  "no case has the metric '" + printable(metric) + "' with a direction", "--metric",
                  "docs/metrics.md lists them");
  if (out.baseline.entries.empty())
    throw Error(ErrorKind::usage, "no case of these runs has a round that completed", {},
                "'assay report RUN' says why");
  return out;
}

}  // namespace assay::compare
