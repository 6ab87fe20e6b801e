#include "probe/devices.h"

#include "core/pattern.h"
#include "core/subprocess.h"
#include "core/text.h"

namespace assay::probe {

namespace {

std::vector<std::string> texts(const Json& json, const char* key) {
  std::vector<std::string> out;
  if (!json.is_object() || !json.contains(key) || !json[key].is_array()) return out;
  for (const Json& item : json[key])
    if (item.is_string()) out.push_back(item.get<std::string>());
  return out;
}

}  // namespace

Json to_json(const DeviceQuery& query) {
  return {{"command", query.command}, {"pattern", query.pattern}, {"fields", query.fields}};
}

DeviceQuery device_query_from_json(const Json& json) {
  DeviceQuery query{texts(json, "command"), "", texts(json, "fields")};
  if (json.is_object() && json.contains("pattern") && json["pattern"].is_string())
    query.pattern = json["pattern"].get<std::string>();
  return query;
}

Json parse_devices(const std::string& output, const DeviceQuery& query) {
  Json devices = Json::array();
  if (query.pattern.empty()) return devices;
  try {
    const Pattern pattern(query.pattern);
    for (const auto line : split(output, '\n')) {
      const auto match = pattern.search(line);
      if (!match) continue;
      Json device = Json::object();
      for (std::size_t i = 0; i < query.fields.size() && i + 1 < match->size(); ++i)
        if (const auto& value = (*match)[i + 1]) device[query.fields[i]] = printable(trim(*value));
      devices.push_back(std::move(device));
    }
  } catch (const PatternError&) {
    return Json::array();
  }
  return devices;
}

Json list_devices(const DeviceQuery& query, Nanoseconds timeout) {
  if (query.command.empty() || !find_program(query.command.front())) return Json::array();
  CommandOptions options;
  options.timeout = timeout;
  const CommandResult result = run_command(query.command, options);
  return result.status.ok() && !result.timed_out ? parse_devices(result.out, query) : Json::array();
}

}  // namespace assay::probe
