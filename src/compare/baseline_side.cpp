#include "compare/baseline_side.h"

#include <algorithm>

#include "core/text.h"
#include "judge/case_identity.h"

namespace assay::compare {

namespace {

using baseline::CaseEntry;

const CaseEntry& first_of(const baseline::Baseline& baseline, const std::string& case_name) {
  return *std::ranges::find(baseline.entries, case_name, &CaseEntry::name);
}

// The other run's headline if the baseline has it; otherwise the first judged metric.
std::string headline_of(const CaseEntry& entry, const judge::RunResult& other) {
  for (const judge::CaseResult& result : other.cases)
    if (judge::case_identity(result) == entry.name && entry.find(result.headline) != nullptr)
      return result.headline;
  const auto judged = std::ranges::find(entry.metrics, true, &baseline::Metric::judged);
  return judged == entry.metrics.end() ? std::string() : judged->name;
}

void fill_rounds(const CaseEntry& entry, judge::CaseResult& out) {
  for (const baseline::Metric& metric : entry.metrics) {
    judge::Summary summary;
    summary.info = {metric.name, metric.unit, metric.better, ""};
    summary.median = metric.median;
    out.summary.push_back(summary);
    const std::vector<double> values =
        metric.values.empty() ? std::vector<double>{metric.median} : metric.values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i == out.rounds.size()) {
        out.rounds.emplace_back();
        out.rounds.back().round = static_cast<int>(i) + 1;
        out.rounds.back().status = RoundStatus::completed;
        out.rounds.back().validity = judge::Validity::valid;
      }
      judge::Metric value;
      value.info = summary.info;
      value.value = values[i];
      out.rounds[i].metrics.push_back(std::move(value));
    }
  }
}

judge::CaseResult case_of(const baseline::Baseline& baseline, const std::string& name,
                          const judge::RunResult& other) {
  judge::CaseResult out;
  out.name = name;
  const CaseEntry* entry = entry_of(baseline, name, other);
  if (entry == nullptr) {
    const std::string hardware = judge::hardware_kind(other.system, first_of(baseline, name).nodes);
    judge::Finding finding;
    finding.severity = judge::Severity::incomplete;
    finding.reason = hardware.empty() ? "the other side does not say what hardware it ran on"
                                      : "the baseline has no entry for " + hardware +
                                            ", only for " + join(baseline.hardware_of(name), "; ");
    out.findings.push_back(std::move(finding));
    return out;
  }
  out.nodes = entry->nodes;
  out.procs = entry->procs;
  out.validity = judge::Validity::valid;
  out.headline = headline_of(*entry, other);
  for (const auto& [key, value] : entry->work) out.configuration.push_back({key, value, "", ""});
  fill_rounds(*entry, out);
  return out;
}

}  // namespace

const baseline::CaseEntry* entry_of(const baseline::Baseline& baseline,
                                    const std::string& case_name, const judge::RunResult& other) {
  const auto first = std::ranges::find(baseline.entries, case_name, &CaseEntry::name);
  if (first == baseline.entries.end()) return nullptr;
  return baseline.find(case_name, judge::hardware_kind(other.system, first->nodes));
}

judge::RunResult run_of(const baseline::Baseline& baseline, const judge::RunResult& other) {
  judge::RunResult out;
  out.validity = judge::Validity::valid;
  for (const CaseEntry& entry : baseline.entries)
    if (std::ranges::none_of(
            out.cases, [&](const judge::CaseResult& known) { return known.name == entry.name; }))
      out.cases.push_back(case_of(baseline, entry.name, other));
  return out;
}

}  // namespace assay::compare
