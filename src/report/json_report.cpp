#include "report/json_report.h"

#include <cmath>
#include <optional>

#include "report/sweep_view.h"

namespace assay::report {

namespace {

using judge::CaseResult;
using judge::Finding;
using judge::Metric;
using judge::RankResult;
using judge::RoundResult;
using judge::RunResult;
using judge::Summary;

void put_number(Json& object, const char* key, std::optional<double> value) {
  if (value && std::isfinite(*value)) object[key] = *value;
}

void put_text(Json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

Json finding_to_json(const Finding& finding) {
  Json json = {{"rule", finding.rule},
               {"severity", to_text(finding.severity)},
               {"aspect", to_text(finding.aspect)},
               {"reason", finding.reason},
               {"advice", finding.advice}};
  put_text(json, "where", finding.where);
  if (!finding.quote.empty()) json["quote"] = finding.quote;
  return json;
}

Json findings_to_json(const std::vector<Finding>& findings) {
  Json json = Json::array();
  for (const Finding& finding : findings) json.push_back(finding_to_json(finding));
  return json;
}

}  // namespace

Json evidence_to_json(const judge::EvidenceState& evidence) {
  const auto aspect = [](const judge::AspectState& state) {
    return Json{{"state", to_text(state.state)}, {"text", state.text}};
  };
  return {{"completeness", aspect(evidence.completeness)},
          {"integrity", aspect(evidence.integrity)},
          {"plausibility", aspect(evidence.plausibility)}};
}

namespace {

Json metrics_to_json(const std::vector<Metric>& metrics) {
  Json json = Json::object();
  for (const Metric& metric : metrics) {
    if (!std::isfinite(metric.value) || json.contains(metric.info.name)) continue;
    Json entry = {{"value", metric.value},
                  {"unit", metric.info.unit},
                  {"better", to_text(metric.info.better)},
                  {"origin", to_text(metric.origin)}};
    put_number(entry, "ci95_low", metric.ci95_low);
    put_number(entry, "ci95_high", metric.ci95_high);
    put_text(entry, "note", metric.note);
    put_text(entry, "description", metric.info.description);
    json[metric.info.name] = std::move(entry);
  }
  return json;
}

Json rank_to_json(const RankResult& rank) {
  Json json = {{"rank", rank.rank},
               {"node", rank.node},
               {"local_rank", rank.local_rank},
               {"host", rank.host},
               {"exit", nullptr},
               {"ended_by", rank.ended_by},
               {"log", rank.log},
               {"steps", rank.steps},
               {"samples", std::isfinite(rank.samples) ? rank.samples : 0.0}};
  if (rank.exit && rank.exit->code)
    json["exit"] = {{"code", *rank.exit->code}};
  else if (rank.exit && rank.exit->signal)
    json["exit"] = {{"signal", *rank.exit->signal}};
  put_number(json, "mean_step_s", rank.mean_step_s);
  put_number(json, "mean_own_s", rank.mean_own_s);
  put_number(json, "relative_speed", rank.relative_speed);
  json["malformed_lines"] = rank.malformed_lines;
  json["dropped_bytes"] = rank.dropped_bytes;
  put_text(json, "bound", rank.bound);
  put_text(json, "ran_on", rank.ran_on);
  return json;
}

Json round_to_json(const RoundResult& round) {
  Json json = {{"round", round.round},
               {"status", to_text(round.status)},
               {"validity", judge::to_string(round.validity)},
               {"reason", round.reason},
               {"started", round.started},
               {"ended", round.ended},
               {"metrics", metrics_to_json(round.metrics)},
               {"evidence", evidence_to_json(round.evidence)},
               {"findings", findings_to_json(round.findings)},
               {"phases", Json::array()},
               {"ranks", Json::array()}};
  for (const judge::Phase& phase : round.phases) {
    if (!std::isfinite(phase.start_s) || !std::isfinite(phase.end_s)) continue;
    json["phases"].push_back(
        {{"name", phase.name}, {"start_s", phase.start_s}, {"end_s", phase.end_s}});
  }
  if (round.steady)
    json["steady"] = {{"start_s", round.steady->start_s}, {"end_s", round.steady->end_s}};
  put_number(json, "wall_s", round.wall_s);
  for (const judge::TimeShare& share : round.time_shares)
    json["time_shares"].push_back({{"name", to_text(share.part)},
                                   {"title", judge::title_of(share.part)},
                                   {"seconds", share.seconds}});
  for (const RankResult& rank : round.ranks) json["ranks"].push_back(rank_to_json(rank));
  if (!round.executed.empty()) json["executed"] = round.executed;
  if (round.ais && !round.ais->train_result_info.empty())
    json["train_result_info"] = parse_json_or_null(round.ais->train_result_info);
  return json;
}

Json summary_to_json(const std::vector<Summary>& summaries) {
  Json json = Json::object();
  for (const Summary& summary : summaries) {
    if (!std::isfinite(summary.median) || !std::isfinite(summary.mean) ||
        !std::isfinite(summary.min) || !std::isfinite(summary.max) ||
        json.contains(summary.info.name))
      continue;
    Json entry = {{"unit", summary.info.unit},
                  {"better", to_text(summary.info.better)},
                  {"origin", to_text(summary.origin)},
                  {"n", summary.n},
                  {"median", summary.median},
                  {"mean", summary.mean},
                  {"min", summary.min},
                  {"max", summary.max}};
    put_number(entry, "stddev", summary.stddev);
    put_number(entry, "cv", summary.cv);
    put_number(entry, "ci95_low", summary.ci95_low);
    put_number(entry, "ci95_high", summary.ci95_high);
    put_number(entry, "olympic_mean", summary.olympic_mean);
    put_text(entry, "note", summary.note);
    put_text(entry, "description", summary.info.description);
    json[summary.info.name] = std::move(entry);
  }
  return json;
}

Json setting_to_json(const plan::Setting& setting) {
  Json json = {{"key", setting.key}, {"value", setting.value}};
  put_text(json, "origin", setting.origin);
  put_text(json, "use", setting.use);
  return json;
}

Json rule_to_json(const catalog::Rule& rule) {
  Json json = {{"rule", rule.id},
               {"scope", to_text(rule.scope)},
               {"fact", rule.fact},
               {"required", rule.required},
               {"severity", to_text(rule.severity)}};
  put_number(json, "min", rule.min);
  put_number(json, "max", rule.max);
  put_text(json, "origin", rule.origin);
  return json;
}

Json change_to_json(const catalog::RuleDifference& difference) {
  Json json = {{"rule", difference.id()},
               {"relaxed", difference.relaxed()},
               {"text", catalog::difference_text(difference)},
               {"standard", nullptr},
               {"in_force", nullptr}};
  if (difference.standard) json["standard"] = rule_to_json(*difference.standard);
  if (difference.in_force) json["in_force"] = rule_to_json(*difference.in_force);
  put_text(json, "origin", difference.origin);
  return json;
}

Json hook_to_json(const judge::HookResult& result) {
  Json json = {{"name", result.hook.name},         {"when", to_text(result.hook.when)},
               {"on", to_text(result.hook.on)},    {"command", result.hook.command},
               {"required", result.hook.required}, {"verdict", to_text(result.verdict)}};
  put_text(json, "reason", result.reason);
  put_number(json, "seconds", result.seconds);
  put_text(json, "output", result.output);
  return json;
}

Json case_to_json(const CaseResult& result) {
  Json json = {{"name", result.name},
               {"model", result.model},
               {"framework", result.framework},
               {"hardware", result.hardware},
               {"nodes", result.nodes},
               {"procs", result.procs},
               {"repeats", result.repeats},
               {"validity", judge::to_string(result.validity)},
               {"headline", result.headline},
               {"findings", findings_to_json(result.findings)},
               {"summary", summary_to_json(result.summary)},
               {"rounds", Json::array()}};
  put_text(json, "beside", result.beside);
  if (result.skipped)
    json["skipped"] = {{"cause", to_text(result.skipped->cause)},
                       {"reason", result.skipped->reason}};
  if (result.sweep)
    json["sweep"] = {{"name", result.sweep->sweep}, {"values", result.sweep->values}};
  for (const judge::HookResult& hook : result.hooks) json["hooks"].push_back(hook_to_json(hook));
  for (const RoundResult& round : result.rounds) json["rounds"].push_back(round_to_json(round));
  for (const RoundResult& round : result.warmup_rounds)
    json["warmup_rounds"].push_back(round_to_json(round));
  put_text(json, "repeats_ended", result.repeats_ended);
  for (const plan::Setting& setting : result.configuration)
    json["configuration"].push_back(setting_to_json(setting));
  for (const catalog::Rule& rule : result.rules) json["rules"].push_back(rule_to_json(rule));
  if (result.rule_changes) {
    json["rule_changes"] = Json::array();
    for (const catalog::RuleDifference& difference : *result.rule_changes)
      json["rule_changes"].push_back(change_to_json(difference));
  }
  return json;
}

}  // namespace

Json result_to_json(const RunResult& result) {
  Json json = {{"schema_version", RunResult::kSchemaVersion},
               {"run_id", result.run_id},
               {"suite", result.suite},
               {"validity", judge::to_string(result.validity)},
               {"findings", findings_to_json(result.findings)},
               {"seal", {{"state", to_text(result.seal.state)}, {"text", result.seal.text}}},
               {"cases", Json::array()},
               {"system", result.system},
               {"provenance", result.provenance}};
  put_text(json["seal"], "public_key", result.seal.public_key);
  put_text(json["seal"], "fingerprint", result.seal.fingerprint);
  put_text(json["seal"], "signed_at", result.seal.signed_at);
  for (const CaseResult& case_result : result.cases)
    json["cases"].push_back(case_to_json(case_result));
  if (!result.sweeps.empty()) json["sweeps"] = sweeps_to_json(result);
  for (const judge::HookResult& hook : result.hooks) json["hooks"].push_back(hook_to_json(hook));
  return json;
}

std::string render_json(const RunResult& result) {
  return dump_pretty(result_to_json(result));
}

}  // namespace assay::report
