#include "judge/rules.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "core/text.h"
#include "core/units.h"
#include "judge/judge.h"

namespace assay::judge {

namespace {

constexpr std::array<std::string_view, 4> kPlaceholders{"value", "min", "max", "detail"};

std::optional<Severity> parse_severity(std::string_view text) {
  for (const Severity s :
       {Severity::note, Severity::warning, Severity::incomplete, Severity::invalid})
    if (text == to_string(s)) return s;
  return std::nullopt;
}

// Limits as they were written, values short.
std::string number(double value) {
  return format_number(value);
}

std::string fill(std::string text, const catalog::Rule& rule, const Fact& fact) {
  const auto replace = [&](std::string_view name, const std::string& value) {
    const std::string token = "{" + std::string(name) + "}";
    for (auto at = text.find(token); at != std::string::npos; at = text.find(token, at)) {
      text.replace(at, token.size(), value);
      at += value.size();
    }
  };
  replace("value", number(fact.value));
  replace("min", rule.min ? number(*rule.min) : "–");
  replace("max", rule.max ? number(*rule.max) : "–");
  // A detail that is not known leaves no empty brackets behind.
  if (fact.detail.empty()) {
    for (const std::string_view empty : {" ({detail})", ": {detail}", ", {detail}", " {detail}"})
      if (const auto at = text.find(empty); at != std::string::npos) text.erase(at, empty.size());
  }
  replace("detail", fact.detail);
  return text;
}

void check_placeholders(const std::string& text, const catalog::Rule& rule) {
  for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
    const auto close = text.find('}', at);
    const std::string name =
        close == std::string::npos ? text.substr(at + 1) : text.substr(at + 1, close - at - 1);
    if (std::ranges::find(kPlaceholders, name) == kPlaceholders.end()) {
      const std::vector<std::string> known(kPlaceholders.begin(), kPlaceholders.end());
      throw Error(
          ErrorKind::config,
          "rule '" + rule.id + "': unknown placeholder {" + name + "}" + did_you_mean(name, known),
          rule.origin, "known: {value}, {min}, {max}, {detail}");
    }
  }
}

}  // namespace

const std::vector<FactInfo>& fact_catalogue() {
  static const std::vector<FactInfo> kFacts{
      {"ranks_failed", "ranks", "ranks that ended otherwise than with exit code 0", "round", false},
      {"ranks_lost", "ranks", "ranks whose end nobody saw", "round", false},
      {"ranks_missing", "ranks", "planned ranks that were never started", "round", false},
      {"ranks_without_perflog", "ranks",
       "ranks without a PerfLog event, where other ranks or a target make one expected", "round",
       false},
      {"perflog_events", "1", "PerfLog events of all ranks", "round", false},
      {"logs_missing", "1", "ranks that were started and left no log", "round", false},
      {"truncated_logs", "1", "logs that end inside a PerfLog line", "round", false},
      {"malformed_lines", "lines", "PerfLog lines that are no JSON object", "round", true},
      {"dropped_bytes", "bytes", "output that was not kept", "round", true},
      {"log_write_errors", "1", "nodes where output was lost because a log could not be written",
       "round", true},
      {"metrics_not_offered", "1",
       "nodes whose metrics Prometheus could not read, though asked for", "round", false},
      {"unreadable_files", "1", "evidence that exists and cannot be read", "round", true},
      {"nonfinite_losses", "1", "losses that are NaN or infinite", "round", true},
      {"train_restarts", "1", "times that training began again within a rank", "round", true},
      {"converged", "1", "1 when the case's target was met, else 0; only with a target", "round",
       false},
      {"output_metrics_missing", "1", "output metrics of the case that matched nothing", "round",
       false},
      {"reported_mismatch", "ratio",
       "difference of the throughput in the log from the one that FINISHED reports", "round",
       false},
      {"throttled_s", "s", "device-seconds slowed by heat, power or hardware during training",
       "round", true},
      {"ecc_errors", "1", "uncorrected memory errors of devices during the round", "round", true},
      {"telemetry_rows", "1", "telemetry samples of the nodes", "round", false},
      {"telemetry_gap_max_s", "s", "longest time between samples of a node, beyond the interval",
       "round", false},
      {"energy_coverage", "ratio", "part of the training that power samples cover", "round", false},
      {"clock_jump_max_s", "s", "largest step of a wall clock during the round", "round", true},
      {"clock_jump_in_times_s", "s",
       "the same, where times were taken from a wall clock; unknown when none were", "round",
       false},
      {"clock_skew_max_s", "s",
       "largest difference of a node's wall clock from the controller's, with a message's way",
       "round", true},
      {"killed_leftovers", "processes", "processes that outlived their rank and were killed",
       "round", true},
      {"caches_kept", "nodes",
       "nodes whose page cache could not be dropped, where it was asked for", "round", false},
      {"automl_measured", "1", "1 when an experiment has measured an accuracy, else 0", "round",
       false},
      {"automl_missing_s", "s", "by how much an experiment was shorter than asked for", "round",
       false},
      {"automl_precision_bits", "bits", "of the numbers that an experiment trains with", "round",
       false},
      {"ais_results_missing", "1",
       "results that a workload had to tell with set_result and did not", "round", false},
      {"ais_result_unstated", "1", "1 when a workload that uses set_result never said OK, else 0",
       "round", false},
      {"ais_values_changed", "1", "results that were told again with another value", "round",
       false},
      {"ais_unreadable_lines", "lines", "lines of set_result.jsonl that are no results", "round",
       false},
      {"ais_not_measured", "1", "fields of train_result_info that have a placeholder", "round",
       false},
      {"cv", "ratio", "coefficient of variation of the headline metric; needs 3 completed rounds",
       "case", false},
      {"rounds_completed", "rounds", "rounds that completed", "case", false},
      {"rounds_completed_ratio", "ratio", "completed rounds / planned rounds", "case", false},
  };
  return kFacts;
}

void check_rules(const std::vector<catalog::Rule>& rules,
                 std::span<const std::string> own_metrics) {
  std::vector<std::string> names(own_metrics.begin(), own_metrics.end());
  for (const FactInfo& fact : fact_catalogue()) names.push_back(fact.name);
  for (const MetricInfo& metric : metric_catalogue()) names.push_back(metric.name);
  for (const catalog::Rule& rule : rules) {
    const auto fail = [&](const std::string& what, const std::string& advice) {
      throw Error(ErrorKind::config, "rule '" + rule.id + "': " + what, rule.origin, advice);
    };
    const bool known = std::ranges::find(names, rule.fact) != names.end() ||
                       (rule.fact.starts_with("final_") && rule.fact.size() > 6);
    if (!known)
      fail("unknown fact '" + rule.fact + "'" + did_you_mean(rule.fact, names),
           "'assay list rules' and 'assay list metrics' name what a rule can bound");
    if (rule.scope != "round" && rule.scope != "case")
      fail("unknown scope '" + rule.scope + "'", "scope is round or case");
    const auto fact = std::ranges::find(fact_catalogue(), rule.fact, &FactInfo::name);
    if (fact != fact_catalogue().end() && fact->scope != rule.scope)
      fail("'" + rule.fact + "' is a fact of a " + fact->scope, "set scope: " + fact->scope);
    if (!parse_severity(rule.severity)) {
      static const std::vector<std::string> kSeverities{"note", "warning", "incomplete", "invalid"};
      fail("unknown severity '" + rule.severity + "'" + did_you_mean(rule.severity, kSeverities),
           "severity is invalid, incomplete, warning or note");
    }
    if (!rule.min && !rule.max && !rule.required)
      fail("it bounds nothing", "give min, max or required: true");
    if ((rule.min && !std::isfinite(*rule.min)) || (rule.max && !std::isfinite(*rule.max)))
      fail("a bound is not a finite number", "leave out a bound that does not matter");
    if (rule.min && rule.max && *rule.min > *rule.max)
      fail("min " + number(*rule.min) + " is above max " + number(*rule.max), "swap them");
    check_placeholders(rule.reason, rule);
    check_placeholders(rule.advice, rule);
  }
}

void check_rules(const plan::CasePlan& plan_case) {
  std::vector<std::string> own;
  for (const plan::OutputMetric& metric : plan_case.metrics) own.push_back(metric.name);
  check_rules(plan_case.rules, own);
}

std::vector<Finding> apply_rules(const std::vector<catalog::Rule>& rules, const std::string& scope,
                                 const FactLookup& lookup, const std::string& where,
                                 bool only_diagnostic) {
  std::vector<Finding> findings;
  for (const catalog::Rule& rule : rules) {
    if (rule.scope != scope) continue;
    const auto info = std::ranges::find(fact_catalogue(), rule.fact, &FactInfo::name);
    if (only_diagnostic && (info == fact_catalogue().end() || !info->diagnostic)) continue;
    const std::optional<Fact> fact = lookup(rule.fact);
    const Severity severity = parse_severity(rule.severity).value_or(Severity::invalid);
    if (!fact || !std::isfinite(fact->value)) {
      if (rule.required)
        findings.push_back(
            {rule.id, severity, "'" + rule.fact + "' is required and there is no evidence for it",
             rule.advice.empty() ? "let the workload report it, or drop this requirement"
                                 : fill(rule.advice, rule, {0, "unknown"}),
             where});
      continue;
    }
    const bool below = rule.min && fact->value < *rule.min;
    const bool above = rule.max && fact->value > *rule.max;
    if (!below && !above) continue;
    std::string reason =
        rule.reason.empty()
            ? rule.fact + " is {value}, " + (below ? "below {min}" : "above {max}") + " ({detail})"
            : rule.reason;
    findings.push_back({rule.id, severity, fill(std::move(reason), rule, *fact),
                        fill(rule.advice, rule, *fact), where});
  }
  return findings;
}

Validity verdict(const std::vector<Finding>& findings) {
  Validity result = Validity::valid;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::invalid) result = worst(result, Validity::invalid);
    if (finding.severity == Severity::incomplete) result = worst(result, Validity::incomplete);
  }
  return result;
}

Validity worst(Validity a, Validity b) noexcept {
  const auto badness = [](Validity v) {
    return v == Validity::invalid ? 2 : v == Validity::incomplete ? 1 : 0;
  };
  return badness(a) >= badness(b) ? a : b;
}

}  // namespace assay::judge
