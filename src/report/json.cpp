#include "report/json.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/error.h"

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
                  {"better", to_string(metric.info.better)},
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
    Json entry = {{"unit", summary.info.unit}, {"better", to_string(summary.info.better)},
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

// Reads fields of one object; every failure names the path of the field.
class Reader {
 public:
  Reader(const Json& json, std::string path, const std::string& where)
      : json_(json), path_(std::move(path)), where_(where) {
    if (!json_.is_object()) fail("is not an object");
  }

  [[nodiscard]] const Json& at(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) fail("has no '" + std::string(key) + "'");
    return *found;
  }

  template <typename T>
  [[nodiscard]] T get(const char* key) const {
    return convert<T>(at(key), key);
  }

  template <typename T>
  [[nodiscard]] T get_or(const char* key, T fallback) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? std::move(fallback) : convert<T>(*found, key);
  }

  [[nodiscard]] std::optional<double> number_if(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) return std::nullopt;
    return convert<double>(*found, key);
  }

  /// Calls `read(Reader)` for every element of the array `key`.
  template <typename Read>
  void each(const char* key, Read read) const {
    const Json& array = at(key);
    if (!array.is_array()) fail("'" + std::string(key) + "' is not an array");
    for (std::size_t i = 0; i < array.size(); ++i)
      read(Reader(array[i], path_ + "/" + key + "/" + std::to_string(i), where_));
  }

  /// Calls `read(name, Reader)` for every member of the object `key`.
  template <typename Read>
  void each_member(const char* key, Read read) const {
    const Json& object = at(key);
    if (!object.is_object()) fail("'" + std::string(key) + "' is not an object");
    for (const auto& [name, value] : object.items())
      read(name, Reader(value, path_ + "/" + key + "/" + name, where_));
  }

  template <typename Enum, std::size_t N>
  [[nodiscard]] Enum one_of(const char* key, const std::array<Enum, N>& values) const {
    const auto text = get<std::string>(key);
    for (const Enum value : values)
      if (text == to_string(value)) return value;
    fail("'" + std::string(key) + "' is '" + text + "', which is not one of its values");
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::config, (path_.empty() ? "the result" : path_) + " " + problem, where_,
                "'assay report RUN' writes result.json again from the evidence");
  }

 private:
  template <typename T>
  [[nodiscard]] T convert(const Json& value, const char* key) const {
    bool fits = false;
    if constexpr (std::is_same_v<T, std::string>)
      fits = value.is_string();
    else if constexpr (std::is_floating_point_v<T>)
      fits = value.is_number();
    else if constexpr (std::is_unsigned_v<T>)
      fits = value.is_number_unsigned();
    else
      fits = value.is_number_integer();
    if (!fits) fail("'" + std::string(key) + "' has the wrong type");
    return value.get<T>();
  }

  const Json& json_;
  std::string path_;
  const std::string& where_;
};

constexpr std::array kValidities{Validity::valid, Validity::invalid, Validity::incomplete};
constexpr std::array kSeverities{Severity::note, Severity::warning, Severity::incomplete,
                                 Severity::invalid};
constexpr std::array kBetter{Better::higher, Better::lower, Better::neither};

std::vector<Finding> findings_from(const Reader& reader) {
  std::vector<Finding> findings;
  reader.each("findings", [&](const Reader& item) {
    findings.push_back({.rule = item.get<std::string>("rule"),
                        .severity = item.one_of("severity", kSeverities),
                        .reason = item.get<std::string>("reason"),
                        .advice = item.get<std::string>("advice"),
                        .where = item.get_or<std::string>("where", ""),
                        .quote = item.get_or<std::vector<std::string>>("quote", {})});
  });
  return findings;
}

MetricInfo info_from(const std::string& name, const Reader& reader) {
  return {.name = name,
          .unit = reader.get<std::string>("unit"),
          .better = reader.one_of("better", kBetter),
          .description = reader.get_or<std::string>("description", "")};
}

RankResult rank_from(const Reader& reader) {
  RankResult rank;
  rank.rank = reader.get<int>("rank");
  rank.node = reader.get<int>("node");
  rank.local_rank = reader.get<int>("local_rank");
  rank.host = reader.get<std::string>("host");
  if (const Json& exit = reader.at("exit"); !exit.is_null()) {
    const Reader status(exit, "exit of rank " + std::to_string(rank.rank), "result.json");
    rank.exit.emplace();
    if (exit.contains("code")) rank.exit->code = status.get<int>("code");
    if (exit.contains("signal")) rank.exit->signal = status.get<int>("signal");
  }
  rank.ended_by = reader.get<std::string>("ended_by");
  rank.log = reader.get<std::string>("log");
  rank.steps = reader.get<std::int64_t>("steps");
  rank.samples = reader.get<double>("samples");
  rank.mean_step_s = reader.number_if("mean_step_s");
  rank.mean_own_s = reader.number_if("mean_own_s");
  rank.relative_speed = reader.number_if("relative_speed");
  rank.malformed_lines = reader.get<std::uint64_t>("malformed_lines");
  rank.dropped_bytes = reader.get<std::uint64_t>("dropped_bytes");
  return rank;
}

RoundResult round_from(const Reader& reader) {
  RoundResult round;
  round.round = reader.get<int>("round");
  const auto status = parse_enum<RoundStatus>(reader.get<std::string>("status"));
  if (!status) reader.fail("has a 'status' that is not one of its values");
  round.status = *status;
  round.validity = reader.one_of("validity", kValidities);
  round.reason = reader.get<std::string>("reason");
  round.started = reader.get<std::string>("started");
  round.ended = reader.get<std::string>("ended");
  reader.each_member("metrics", [&](const std::string& name, const Reader& item) {
    round.metrics.push_back({.info = info_from(name, item),
                             .value = item.get<double>("value"),
                             .origin = item.get<std::string>("origin"),
                             .note = item.get_or<std::string>("note", "")});
  });
  round.findings = findings_from(reader);
  reader.each("phases", [&](const Reader& item) {
    round.phases.push_back({.name = item.get<std::string>("name"),
                            .start_s = item.get<double>("start_s"),
                            .end_s = item.get<double>("end_s")});
  });
  reader.each("ranks", [&](const Reader& item) { round.ranks.push_back(rank_from(item)); });
  return round;
}

Summary summary_from(const std::string& name, const Reader& reader) {
  Summary summary;
  summary.info = info_from(name, reader);
  summary.origin = reader.get<std::string>("origin");
  summary.n = reader.get<int>("n");
  summary.median = reader.get<double>("median");
  summary.mean = reader.get<double>("mean");
  summary.min = reader.get<double>("min");
  summary.max = reader.get<double>("max");
  summary.stddev = reader.number_if("stddev");
  summary.cv = reader.number_if("cv");
  summary.ci95_low = reader.number_if("ci95_low");
  summary.ci95_high = reader.number_if("ci95_high");
  summary.olympic_mean = reader.number_if("olympic_mean");
  summary.note = reader.get_or<std::string>("note", "");
  return summary;
}

CaseResult case_from(const Reader& reader) {
  CaseResult result;
  result.name = reader.get<std::string>("name");
  result.model = reader.get<std::string>("model");
  result.framework = reader.get<std::string>("framework");
  result.hardware = reader.get<std::string>("hardware");
  result.nodes = reader.get<int>("nodes");
  result.procs = reader.get<int>("procs");
  result.repeats = reader.get<int>("repeats");
  result.validity = reader.one_of("validity", kValidities);
  result.headline = reader.get<std::string>("headline");
  result.findings = findings_from(reader);
  reader.each_member("summary", [&](const std::string& name, const Reader& item) {
    result.summary.push_back(summary_from(name, item));
  });
  reader.each("rounds", [&](const Reader& item) { result.rounds.push_back(round_from(item)); });
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
  const Reader reader(json, "", where);
  const int version = reader.get<int>("schema_version");
  if (version != RunResult::kSchemaVersion)
    throw Error(ErrorKind::config,
                "the result has schema version " + std::to_string(version) +
                    ", and this Assay reads " + std::to_string(RunResult::kSchemaVersion),
                where, "'assay report RUN' writes it again from the evidence");
  RunResult result;
  result.run_id = reader.get<std::string>("run_id");
  result.suite = reader.get<std::string>("suite");
  result.validity = reader.one_of("validity", kValidities);
  reader.each("cases", [&](const Reader& item) { result.cases.push_back(case_from(item)); });
  result.system = reader.at("system");
  result.provenance = reader.at("provenance");
  return result;
}

std::string render_json(const RunResult& result) {
  return dump_pretty(result_to_json(result));
}

}  // namespace assay::report
