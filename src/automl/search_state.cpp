#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "automl/search.h"
#include "core/error.h"

namespace assay::automl {

namespace {

constexpr int kStateVersion = 1;
constexpr std::array state_names{"pending", "measured", "failed"};

[[noreturn]] void reject(const std::string& message, const std::string& where) {
  throw Error(ErrorKind::config, message, where,
              "the state of a search is what Assay has written, with the options it had then");
}

const Json& member(const Json& json, const char* key, const std::string& where) {
  if (!json.is_object() || !json.contains(key)) reject(fmt::format("'{}' is missing", key), where);
  return json[key];
}

}  // namespace

Json Search::save() const {
  Json json;
  json["version"] = kStateVersion;
  json["start"] = Json::array();
  for (const Graph& graph : start_) json["start"].push_back(to_json(graph));
  json["process"] = process_.save();
  json["trials"] = Json::array();
  for (const Trial& trial : trials_) {
    Json item;
    item["parent"] = trial.parent;
    item["operations"] = Json::array();
    for (const Operation& operation : trial.operations) {
      item["operations"].push_back(to_json(operation));
    }
    item["state"] = state_names[static_cast<std::size_t>(trial.state)];
    if (trial.state == State::measured) item["value"] = trial.value;
    if (trial.state == State::failed) item["reason"] = trial.reason;
    json["trials"].push_back(std::move(item));
  }
  return json;
}

Search Search::restore(SearchOptions options, const Json& json, const std::string& where) {
  if (member(json, "version", where) != kStateVersion) reject("the version is unknown", where);
  std::vector<Graph> start;
  const Json& starts = member(json, "start", where);
  if (!starts.is_array()) reject("'start' is not a list", where);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    start.push_back(graph_from_json(starts[i], fmt::format("{}: start[{}]", where, i)));
  }
  Search search(options, std::move(start));
  const Json& trials = member(json, "trials", where);
  if (!trials.is_array()) reject("'trials' is not a list", where);
  for (std::size_t id = 0; id < trials.size(); ++id) {
    const std::string at = fmt::format("{}: trials[{}]", where, id);
    const Json& item = trials[id];
    const Json& parent = member(item, "parent", at);
    const bool is_start = id < search.start_.size();
    if (!parent.is_number_integer() || parent < (is_start ? -1 : 0) ||
        parent.get<std::int64_t>() >= (is_start ? 0 : static_cast<std::int64_t>(id))) {
      reject("'parent' is not an earlier trial", at);
    }
    Graph graph = is_start ? search.start_[id] : search.trials_[parent.get<std::size_t>()].graph;
    std::vector<Operation> operations;
    const Json& list = member(item, "operations", at);
    if (!list.is_array()) reject("'operations' is not a list", at);
    for (const Json& entry : list) {
      operations.push_back(operation_from_json(entry, at));
      graph = apply(graph, operations.back());
    }
    search.record(parent.get<std::int64_t>(), std::move(operations), std::move(graph),
                  std::nullopt);
    const Json& state = member(item, "state", at);
    if (state == state_names[1]) {
      const Json& value = member(item, "value", at);
      if (!value.is_number()) reject("'value' is not a number", at);
      search.tell(static_cast<std::int64_t>(id), value.get<double>());
    } else if (state == state_names[2]) {
      const Json& reason = member(item, "reason", at);
      if (!reason.is_string()) reject("'reason' is not text", at);
      search.tell_failed(static_cast<std::int64_t>(id), reason.get<std::string>());
    } else if (state != state_names[0]) {
      reject("'state' must be pending, measured or failed", at);
    }
  }
  search.process_.restore(member(json, "process", where), where + ": process");
  return search;
}

}  // namespace assay::automl
