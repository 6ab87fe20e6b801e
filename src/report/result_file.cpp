#include "report/result_file.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include "core/error.h"
#include "core/json_skim.h"
#include "report/read_result.h"

namespace assay::report {

namespace {

constexpr std::array<std::string_view, 6> kOfRun{"schema_version", "run_id", "suite",
                                                 "validity",       "system", "provenance"};
constexpr std::array<std::string_view, 12> kOfCase{
    "name",    "model",    "framework", "hardware", "nodes",   "procs",
    "repeats", "validity", "headline",  "beside",   "summary", "configuration"};
constexpr std::array<std::string_view, 5> kOfRound{"round", "status", "validity", "started",
                                                   "ended"};

using Part = std::function<Json(std::string_view text)>;

/// The wanted members of an object, and a list of objects, each made by `part`.
Json skimmed(std::string_view object, const std::string& where,
             std::span<const std::string_view> wanted, std::string_view list, const Part& part) {
  Json out = Json::object();
  each_json_member(object, where, [&](std::string_view key, std::string_view value) {
    if (std::ranges::find(wanted, key) != wanted.end()) {
      out[std::string(key)] = parse_json(value, where);
    } else if (key == list) {
      Json items = Json::array();
      each_json_element(value, where, [&](std::string_view item) { items.push_back(part(item)); });
      out[std::string(key)] = std::move(items);
    }
  });
  return out;
}

}  // namespace

judge::RunResult read_result_summary(std::string_view text, const std::string& where) {
  const Part round = [&](std::string_view item) { return skimmed(item, where, kOfRound, {}, {}); };
  const Part one_case = [&](std::string_view item) {
    return skimmed(item, where, kOfCase, "rounds", round);
  };
  judge::RunResult run = read_result(skimmed(text, where, kOfRun, "cases", one_case), where);
  const auto nameless = [](const judge::CaseResult& result) { return result.name.empty(); };
  if (run.run_id.empty() || std::ranges::any_of(run.cases, nameless))
    throw Error(ErrorKind::config, "the result has no run id, or a case without a name", where,
                "'assay report RUN' computes result.json again");
  return run;
}

}  // namespace assay::report
