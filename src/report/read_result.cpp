#include "report/read_result.h"

#include <utility>

#include "core/error.h"
#include "core/json_access.h"
#include "core/regular_file.h"

namespace assay::report {

namespace {

using judge::CaseResult;
using judge::RoundResult;
using judge::RunResult;

template <class Enum>
Enum enum_in(const Json& json, const char* key, Enum fallback) {
  return parse_enum<Enum>(text_at(json, key)).value_or(fallback);
}

MetricInfo info_in(const std::string& name, const Json& json) {
  return {name, text_at(json, "unit"), enum_in(json, "better", Better::neither),
          text_at(json, "description")};
}

std::vector<judge::Finding> findings_in(const Json& json) {
  std::vector<judge::Finding> out;
  for (const Json& one : list_at(json, "findings")) {
    judge::Finding& finding = out.emplace_back();
    finding.rule = text_at(one, "rule");
    finding.severity = enum_in(one, "severity", judge::Severity::invalid);
    finding.aspect = enum_in(one, "aspect", judge::Aspect::result);
    finding.reason = text_at(one, "reason");
    finding.advice = text_at(one, "advice");
    finding.where = text_at(one, "where");
    for (const Json& line : list_at(one, "quote"))
      if (line.is_string()) finding.quote.push_back(line.get<std::string>());
  }
  return out;
}

judge::AspectState aspect_in(const Json& evidence, const char* key) {
  const Json& json = member_at(evidence, key);
  return {enum_in(json, "state", judge::Soundness::unknown), text_at(json, "text")};
}

RoundResult round_in(const Json& json, bool warmup) {
  RoundResult round;
  round.round = static_cast<int>(integer_at(json, "round", 0));
  round.warmup = warmup;
  round.status = enum_in(json, "status", RoundStatus::not_run);
  round.validity = enum_in(json, "validity", judge::Validity::incomplete);
  round.reason = text_at(json, "reason");
  round.started = text_at(json, "started");
  round.ended = text_at(json, "ended");
  round.wall_s = number_at(json, "wall_s");
  for (const auto& [name, entry] : object_at(json, "metrics").items()) {
    const auto value = number_at(entry, "value");
    if (!value) continue;
    judge::Metric metric;
    metric.info = info_in(name, entry);
    metric.value = *value;
    metric.origin = enum_in(entry, "origin", judge::Origin::measured);
    metric.note = text_at(entry, "note");
    metric.ci95_low = number_at(entry, "ci95_low");
    metric.ci95_high = number_at(entry, "ci95_high");
    round.metrics.push_back(std::move(metric));
  }
  const Json& evidence = member_at(json, "evidence");
  round.evidence = {aspect_in(evidence, "completeness"), aspect_in(evidence, "integrity"),
                    aspect_in(evidence, "plausibility")};
  round.findings = findings_in(json);
  round.executed = list_at(json, "executed");
  return round;
}

judge::Summary summary_in(const std::string& name, const Json& json) {
  judge::Summary summary;
  summary.info = info_in(name, json);
  summary.origin = enum_in(json, "origin", judge::Origin::measured);
  summary.n = static_cast<int>(integer_at(json, "n", 0));
  summary.median = number_at(json, "median", 0);
  summary.mean = number_at(json, "mean", summary.median);
  summary.min = number_at(json, "min", summary.median);
  summary.max = number_at(json, "max", summary.median);
  summary.stddev = number_at(json, "stddev");
  summary.cv = number_at(json, "cv");
  summary.ci95_low = number_at(json, "ci95_low");
  summary.ci95_high = number_at(json, "ci95_high");
  summary.olympic_mean = number_at(json, "olympic_mean");
  summary.note = text_at(json, "note");
  return summary;
}

catalog::Rule rule_in(const Json& json) {
  catalog::Rule rule;
  rule.id = text_at(json, "rule");
  rule.scope = enum_in(json, "scope", catalog::RuleScope::round);
  rule.fact = text_at(json, "fact");
  rule.min = number_at(json, "min");
  rule.max = number_at(json, "max");
  rule.required = member_at(json, "required") == true;
  rule.severity = enum_in(json, "severity", catalog::Severity::invalid);
  rule.origin = text_at(json, "origin");
  return rule;
}

std::optional<catalog::Rule> rule_at(const Json& json, const char* key) {
  const Json& rule = member_at(json, key);
  return rule.is_object() ? std::optional(rule_in(rule)) : std::nullopt;
}

CaseResult case_in(const Json& json) {
  CaseResult out;
  out.name = text_at(json, "name");
  out.model = text_at(json, "model");
  out.framework = text_at(json, "framework");
  out.hardware = text_at(json, "hardware");
  out.nodes = static_cast<int>(integer_at(json, "nodes", 1));
  out.procs = static_cast<int>(integer_at(json, "procs", 1));
  out.repeats = static_cast<int>(integer_at(json, "repeats", 1));
  out.validity = enum_in(json, "validity", judge::Validity::incomplete);
  out.headline = text_at(json, "headline");
  out.beside = text_at(json, "beside");
  out.repeats_ended = text_at(json, "repeats_ended");
  out.findings = findings_in(json);
  if (const Json& skipped = member_at(json, "skipped"); skipped.is_object())
    out.skipped = {enum_in(skipped, "cause", plan::SkipCause::dependency),
                   text_at(skipped, "reason")};
  for (const auto& [name, entry] : object_at(json, "summary").items())
    if (number_at(entry, "median")) out.summary.push_back(summary_in(name, entry));
  for (const Json& round : list_at(json, "rounds")) out.rounds.push_back(round_in(round, false));
  for (const Json& round : list_at(json, "warmup_rounds"))
    out.warmup_rounds.push_back(round_in(round, true));
  for (const Json& setting : list_at(json, "configuration"))
    out.configuration.push_back({text_at(setting, "key"), member_at(setting, "value"),
                                 text_at(setting, "origin"), text_at(setting, "use")});
  for (const Json& rule : list_at(json, "rules"))
    if (rule.is_object()) out.rules.push_back(rule_in(rule));
  if (member_at(json, "rule_changes").is_array()) {
    out.rule_changes.emplace();
    for (const Json& change : list_at(json, "rule_changes")) {
      catalog::RuleDifference difference{rule_at(change, "standard"), rule_at(change, "in_force"),
                                         text_at(change, "origin")};
      if (difference.standard || difference.in_force)
        out.rule_changes->push_back(std::move(difference));
    }
  }
  return out;
}

}  // namespace

RunResult read_result(const Json& json, const std::string& where) {
  const auto version = json.is_object() ? integer_at(json, "schema_version") : std::nullopt;
  if (!version || !member_at(json, "cases").is_array())
    throw Error(ErrorKind::config, "not the result of a run", where,
                "'assay report RUN' computes result.json again");
  if (*version != RunResult::kSchemaVersion)
    throw Error(ErrorKind::config,
                "the result has schema " + std::to_string(*version) + ", this Assay knows " +
                    std::to_string(RunResult::kSchemaVersion),
                where, "use the Assay that wrote it, or 'assay report RUN'");
  RunResult out;
  out.run_id = text_at(json, "run_id");
  out.suite = text_at(json, "suite");
  out.validity = enum_in(json, "validity", judge::Validity::incomplete);
  out.findings = findings_in(json);
  const Json& seal = member_at(json, "seal");
  out.seal = {enum_in(seal, "state", judge::Soundness::unknown), text_at(seal, "text"),
              text_at(seal, "public_key"), text_at(seal, "fingerprint"),
              text_at(seal, "signed_at")};
  for (const Json& one : list_at(json, "cases")) out.cases.push_back(case_in(one));
  out.system = object_at(json, "system");
  out.provenance = object_at(json, "provenance");
  return out;
}

RunResult read_result(const std::filesystem::path& file) {
  return read_result(parse_json(read_regular_file(file), file.string()), file.string());
}

}  // namespace assay::report
