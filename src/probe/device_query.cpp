#include "probe/device_query.h"

#include "core/pattern.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/units.h"

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

DeviceListing query_devices(const DeviceQuery& query, Nanoseconds timeout) {
  DeviceListing listing;
  if (query.command.empty() || !find_program(query.command.front())) {
    listing.problem = query.command.empty() ? "no command is known that lists its devices"
                                            : query.command.front() + " is not installed";
    return listing;
  }
  listing.installed = true;
  const std::string& program = query.command.front();
  CommandOptions options;
  options.timeout = timeout;
  const CommandResult result = run_command(query.command, options);
  if (result.timed_out) {
    listing.problem = program + " did not answer within " + format_duration(timeout);
    listing.advice = "the driver hangs: see dmesg, then reset the device or reboot";
  } else if (!result.status.ok()) {
    const std::string_view said = trim(result.err.empty() ? result.out : result.err);
    listing.problem = program + " ended with " + to_string(result.status) + ": " +
                      ellipsize(printable(said.substr(0, said.find('\n'))), 120);
    listing.advice = "the driver does not work: run the command by hand";
  } else {
    listing.devices = parse_devices(result.out, query);
    if (listing.devices.empty()) {
      listing.problem = program + " lists no device";
      listing.advice = "check the driver, and what a container may see";
    }
  }
  return listing;
}

Json list_devices(const DeviceQuery& query, Nanoseconds timeout) {
  return query_devices(query, timeout).devices;
}

}  // namespace assay::probe
