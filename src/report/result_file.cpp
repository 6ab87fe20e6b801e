#include "report/result_file.h"

#include <cmath>

#include "core/error.h"
#include "core/json_access.h"
#include "core/json_skim.h"
#include "core/text.h"

namespace assay::report {

namespace {

/// What a value of result.json is, as text; "" when it is something else.
std::string text_of(std::string_view value) {
  const Json json = parse_json_or_null(value);
  return json.is_string() ? json.get<std::string>() : std::string();
}

int integer_of(std::string_view value, int fallback) {
  const Json json = parse_json_or_null(value);
  return json.is_number_integer() ? json.get<int>() : fallback;
}

judge::Validity validity_of(std::string_view value, const std::string& where) {
  const auto validity = parse_enum<judge::Validity>(text_of(value));
  if (!validity)
    throw Error(ErrorKind::config, "not a verdict: " + printable(value.substr(0, 40)), where);
  return *validity;
}

judge::Summary read_summary(std::string_view name, std::string_view value,
                            const std::string& where) {
  const Json json = parse_json(value, where);
  judge::Summary summary;
  summary.info.name = text_of("\"" + std::string(name) + "\"");
  summary.info.unit = text_at(json, "unit");
  summary.info.better = parse_enum<Better>(text_at(json, "better")).value_or(Better::neither);
  summary.origin =
      parse_enum<judge::Origin>(text_at(json, "origin")).value_or(judge::Origin::measured);
  summary.n = static_cast<int>(integer_at(json, "n", 0));
  const auto median = number_at(json, "median");
  if (!median)
    throw Error(ErrorKind::config, "the summary of '" + printable(name) + "' has no median", where);
  summary.median = *median;
  summary.mean = number_at(json, "mean", *median);
  summary.min = number_at(json, "min", *median);
  summary.max = number_at(json, "max", *median);
  summary.stddev = number_at(json, "stddev");
  summary.cv = number_at(json, "cv");
  summary.ci95_low = number_at(json, "ci95_low");
  summary.ci95_high = number_at(json, "ci95_high");
  summary.olympic_mean = number_at(json, "olympic_mean");
  return summary;
}

judge::RoundResult read_round(std::string_view text, const std::string& where) {
  judge::RoundResult round;
  each_json_member(text, where, [&](std::string_view key, std::string_view value) {
    if (key == "round") round.round = integer_of(value, 0);
    if (key == "status")
      round.status = parse_enum<RoundStatus>(text_of(value)).value_or(RoundStatus::not_run);
    if (key == "validity") round.validity = validity_of(value, where);
    if (key == "started") round.started = text_of(value);
    if (key == "ended") round.ended = text_of(value);
  });
  return round;
}

judge::CaseResult read_case(std::string_view text, const std::string& where) {
  judge::CaseResult result;
  each_json_member(text, where, [&](std::string_view key, std::string_view value) {
    if (key == "name") result.name = text_of(value);
    if (key == "model") result.model = text_of(value);
    if (key == "framework") result.framework = text_of(value);
    if (key == "hardware") result.hardware = text_of(value);
    if (key == "nodes") result.nodes = integer_of(value, 1);
    if (key == "procs") result.procs = integer_of(value, 1);
    if (key == "repeats") result.repeats = integer_of(value, 1);
    if (key == "validity") result.validity = validity_of(value, where);
    if (key == "headline") result.headline = text_of(value);
    if (key == "beside") result.beside = text_of(value);
    if (key == "summary")
      each_json_member(value, where, [&](std::string_view name, std::string_view summary) {
        result.summary.push_back(read_summary(name, summary, where));
      });
    if (key == "rounds")
      each_json_element(value, where, [&](std::string_view round) {
        result.rounds.push_back(read_round(round, where));
      });
    if (key == "configuration")
      for (const Json& setting : parse_json(value, where))
        result.configuration.push_back({text_at(setting, "key"), member_at(setting, "value"),
                                        text_at(setting, "origin"), text_at(setting, "use")});
  });
  if (result.name.empty()) throw Error(ErrorKind::config, "a case has no name", where);
  return result;
}

}  // namespace

judge::RunResult read_result_summary(std::string_view text, const std::string& where) {
  judge::RunResult run;
  int schema = 0;
  bool judged = false;
  each_json_member(text, where, [&](std::string_view key, std::string_view value) {
    if (key == "schema_version") {
      schema = integer_of(value, 0);
      if (schema > judge::RunResult::kSchemaVersion)
        throw Error(ErrorKind::config,
                    "the result has schema " + std::to_string(schema) + ", this program reads " +
                        std::to_string(judge::RunResult::kSchemaVersion),
                    where, "use a newer assay");
    }
    if (key == "run_id") run.run_id = text_of(value);
    if (key == "suite") run.suite = text_of(value);
    if (key == "validity") {
      run.validity = validity_of(value, where);
      judged = true;
    }
    if (key == "cases")
      each_json_element(value, where,
                        [&](std::string_view one) { run.cases.push_back(read_case(one, where)); });
    if (key == "system") run.system = parse_json(value, where);
    if (key == "provenance") run.provenance = parse_json(value, where);
  });
  if (schema < 1 || run.run_id.empty() || !judged)
    throw Error(ErrorKind::config, "this is not a result of Assay", where,
                "compute it again with 'assay report'");
  return run;
}

}  // namespace assay::report
