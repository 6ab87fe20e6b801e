#include <array>
#include <utility>

#include <fmt/format.h>

#include "automl/search.h"
#include "core/json_access.h"

namespace assay::automl {

namespace {

constexpr int kStateVersion = 1;
constexpr std::array state_names{"pending", "measured", "failed"};

constexpr const char* kAdvice =
    "the state of a search is what Assay has written, with the options it had then";

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
  const JsonReader fields(json, where, kAdvice);
  if (fields.at("version") != kStateVersion) fields.wrong("version", std::to_string(kStateVersion));
  std::vector<Graph> start;
  for (const Json& graph : fields.array("start"))
    start.push_back(graph_from_json(graph, fmt::format("{}: start[{}]", where, start.size())));
  Search search(options, std::move(start));
  fields.each("trials", [&](const JsonReader& item) {
    const std::size_t id = search.trials_.size();
    const bool is_start = id < search.start_.size();
    const auto parent = item.integer<std::int64_t>("parent");
    if (parent < (is_start ? -1 : 0) || parent >= (is_start ? 0 : static_cast<std::int64_t>(id)))
      item.wrong("parent", "an earlier trial");
    Graph graph =
        is_start ? search.start_[id] : search.trials_[static_cast<std::size_t>(parent)].graph;
    std::vector<Operation> operations;
    for (const Json& entry : item.array("operations")) {
      operations.push_back(operation_from_json(entry, item.where()));
      graph = apply(graph, operations.back());
    }
    search.record(parent, std::move(operations), std::move(graph), std::nullopt);
    const std::string state = item.text("state");
    if (state == state_names[1])
      search.tell(static_cast<std::int64_t>(id), item.number("value"));
    else if (state == state_names[2])
      search.tell_failed(static_cast<std::int64_t>(id), item.text("reason"));
    else if (state != state_names[0])
      item.wrong("state", "pending, measured or failed");
  });
  search.process_.restore(fields.at("process"), where + ": process");
  return search;
}

}  // namespace assay::automl
