#include "report/json.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/error.h"
#include "core/json_access.h"

namespace assay::report {

namespace {

using judge::CaseResult;
using judge::Finding;
using judge::Metric;
using judge::RankResult;
using judge::RoundResult;
using judge::RunResult;
using judge::Severity;
using judge::Summary;
using judge::Validity;

void put_number(Json& object, const char* key, std::optional<double> value) {
  if (value && std::isfinite(*value)) object[key] = *value;
}

void put_text(Json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

Json finding_to_json(const Finding& finding) {
  Json json = {{"rule", finding.rule},
               {"severity", judge::to_string(finding.severity)},
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

Json metrics_to_json(const std::vector<Metric>& metrics) {
  Json json = Json::object();
  for (const Metric& metric : metrics) {
    if (!std::isfinite(metric.value) || json.contains(metric.info.name)) continue;
    Json entry = {{"value", metric.value},
                  {"unit", metric.info.unit},
                  {"better", to_text(metric.info.better)},
                  {"origin", metric.origin}};
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
               {"findings", findings_to_json(round.findings)},
               {"phases", Json::array()},
               {"ranks", Json::array()}};
  for (const judge::Phase& phase : round.phases) {
    if (!std::isfinite(phase.start_s) || !std::isfinite(phase.end_s)) continue;
    json["phases"].push_back(
        {{"name", phase.name}, {"start_s", phase.start_s}, {"end_s", phase.end_s}});
  }
  for (const RankResult& rank : round.ranks) json["ranks"].push_back(rank_to_json(rank));
  return json;
}

Json summary_to_json(const std::vector<Summary>& summaries) {
  Json json = Json::object();
  for (const Summary& summary : summaries) {
    if (!std::isfinite(summary.median) || !std::isfinite(summary.mean) ||
        !std::isfinite(summary.min) || !std::isfinite(summary.max) ||
        json.contains(summary.info.name))
      continue;
    Json entry = {{"unit", summary.info.unit}, {"better", to_text(summary.info.better)},
                  {"origin", summary.origin},  {"n", summary.n},
                  {"median", summary.median},  {"mean", summary.mean},
                  {"min", summary.min},        {"max", summary.max}};
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
  for (const RoundResult& round : result.rounds) json["rounds"].push_back(round_to_json(round));
  return json;
}

constexpr const char* kResultAdvice =
    "'assay report RUN' writes result.json again from the evidence";

std::vector<Finding> findings_from(const JsonReader& reader) {
  std::vector<Finding> findings;
  reader.each("findings", [&](const JsonReader& item) {
    findings.push_back(
        {.rule = item.text("rule"),
         .severity = item.choice<Severity>("severity"),
         .reason = item.text("reason"),
         .advice = item.text("advice"),
         .where = item.text_or_empty("where"),
         .quote = item.has("quote") ? item.texts("quote") : std::vector<std::string>{}});
  });
  return findings;
}

MetricInfo info_from(const std::string& name, const JsonReader& reader) {
  return {.name = name,
          .unit = reader.text("unit"),
          .better = reader.choice<Better>("better"),
          .description = reader.text_or_empty("description")};
}

RankResult rank_from(const JsonReader& reader) {
  RankResult rank;
  rank.rank = reader.integer("rank");
  rank.node = reader.integer("node");
  rank.local_rank = reader.integer("local_rank");
  rank.host = reader.text("host");
  if (!reader.at("exit").is_null()) {
    const JsonReader status = reader.fields("exit");
    rank.exit.emplace();
    if (status.has("code")) rank.exit->code = status.integer("code");
    if (status.has("signal")) rank.exit->signal = status.integer("signal");
  }
  rank.ended_by = reader.text("ended_by");
  rank.log = reader.text("log");
  rank.steps = reader.integer<std::int64_t>("steps");
  rank.samples = reader.number("samples");
  rank.mean_step_s = reader.number_if("mean_step_s");
  rank.mean_own_s = reader.number_if("mean_own_s");
  rank.relative_speed = reader.number_if("relative_speed");
  rank.malformed_lines = reader.integer<std::uint64_t>("malformed_lines");
  rank.dropped_bytes = reader.integer<std::uint64_t>("dropped_bytes");
  return rank;
}

RoundResult round_from(const JsonReader& reader) {
  RoundResult round;
  round.round = reader.integer("round");
  round.status = reader.choice<RoundStatus>("status");
  round.validity = reader.choice<Validity>("validity");
  round.reason = reader.text("reason");
  round.started = reader.text("started");
  round.ended = reader.text("ended");
  reader.each_member("metrics", [&](const std::string& name, const JsonReader& item) {
    round.metrics.push_back({.info = info_from(name, item),
                             .value = item.number("value"),
                             .origin = item.text("origin"),
                             .note = item.text_or_empty("note")});
  });
  round.findings = findings_from(reader);
  reader.each("phases", [&](const JsonReader& item) {
    round.phases.push_back({.name = item.text("name"),
                            .start_s = item.number("start_s"),
                            .end_s = item.number("end_s")});
  });
  reader.each("ranks", [&](const JsonReader& item) { round.ranks.push_back(rank_from(item)); });
  return round;
}

Summary summary_from(const std::string& name, const JsonReader& reader) {
  Summary summary;
  summary.info = info_from(name, reader);
  summary.origin = reader.text("origin");
  summary.n = reader.integer("n");
  summary.median = reader.number("median");
  summary.mean = reader.number("mean");
  summary.min = reader.number("min");
  summary.max = reader.number("max");
  summary.stddev = reader.number_if("stddev");
  summary.cv = reader.number_if("cv");
  summary.ci95_low = reader.number_if("ci95_low");
  summary.ci95_high = reader.number_if("ci95_high");
  summary.olympic_mean = reader.number_if("olympic_mean");
  summary.note = reader.text_or_empty("note");
  return summary;
}

CaseResult case_from(const JsonReader& reader) {
  CaseResult result;
  result.name = reader.text("name");
  result.model = reader.text("model");
  result.framework = reader.text("framework");
  result.hardware = reader.text("hardware");
  result.nodes = reader.integer("nodes");
  result.procs = reader.integer("procs");
  result.repeats = reader.integer("repeats");
  result.validity = reader.choice<Validity>("validity");
  result.headline = reader.text("headline");
  result.findings = findings_from(reader);
  reader.each_member("summary", [&](const std::string& name, const JsonReader& item) {
    result.summary.push_back(summary_from(name, item));
  });
  reader.each("rounds", [&](const JsonReader& item) { result.rounds.push_back(round_from(item)); });
  return result;
}

}  // namespace

Json result_to_json(const RunResult& result) {
  Json json = {{"schema_version", RunResult::kSchemaVersion},
               {"run_id", result.run_id},
               {"suite", result.suite},
               {"validity", judge::to_string(result.validity)},
               {"cases", Json::array()},
               {"system", result.system},
               {"provenance", result.provenance}};
  for (const CaseResult& one : result.cases) json["cases"].push_back(case_to_json(one));
  return json;
}

RunResult result_from_json(const Json& json, const std::string& where) {
  const JsonReader reader(json, where, kResultAdvice);
  const int version = reader.integer("schema_version");
  if (version != RunResult::kSchemaVersion)
    throw Error(ErrorKind::config,
                "the result has schema version " + std::to_string(version) +
                    ", and this Assay reads " + std::to_string(RunResult::kSchemaVersion),
                where, "'assay report RUN' writes it again from the evidence");
  RunResult result;
  result.run_id = reader.text("run_id");
  result.suite = reader.text("suite");
  result.validity = reader.choice<Validity>("validity");
  reader.each("cases", [&](const JsonReader& item) { result.cases.push_back(case_from(item)); });
  result.system = reader.at("system");
  result.provenance = reader.at("provenance");
  return result;
}

std::string render_json(const RunResult& result) {
  return dump_pretty(result_to_json(result));
}

}  // namespace assay::report
