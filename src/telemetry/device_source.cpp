#include "telemetry/device_source.h"

#include <array>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "telemetry/device_parser.h"
#include "telemetry/resolve.h"

namespace assay::telemetry {

namespace {

using Mode = DeviceSource::Mode;
using Format = DeviceSource::Format;

constexpr std::array<std::string_view, 3> kModes{"none", "loop", "once"};
constexpr std::array<std::string_view, 3> kFormats{"assay", "csv", "regex"};

template <class E, std::size_t N>
E parse_enum(const std::array<std::string_view, N>& names, const std::string& text,
             const std::string& key, const std::string& where) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<E>(i);
  const std::vector<std::string> known(names.begin(), names.end());
  throw Error(
      ErrorKind::config,
      fmt::format("'{}' is not a {} of a device source{}", text, key, did_you_mean(text, known)),
      where, "known: " + join(known, ", "));
}

std::string string_value(const Json& value, const std::string& key, const std::string& where) {
  if (!value.is_string())
    throw Error(ErrorKind::config, fmt::format("'{}' of a device source must be a text", key),
                where);
  return value.get<std::string>();
}

std::vector<std::string> string_list(const Json& value, const std::string& key,
                                     const std::string& where) {
  if (!value.is_array())
    throw Error(ErrorKind::config,
                fmt::format("'{}' of a device source must be a list of texts", key), where);
  std::vector<std::string> out;
  for (const Json& item : value) out.push_back(string_value(item, key, where));
  return out;
}

}  // namespace

std::string_view to_string(Mode mode) noexcept {
  return kModes[static_cast<std::size_t>(mode)];
}

std::string_view to_string(Format format) noexcept {
  return kFormats[static_cast<std::size_t>(format)];
}

Json to_json(const DeviceSource& source) {
  return {{"vendor", source.vendor},
          {"mode", to_string(source.mode)},
          {"format", to_string(source.format)},
          {"command", source.command},
          {"pattern", source.pattern},
          {"fields", source.fields},
          {"monitor_log", source.monitor_log}};
}

DeviceSource device_source_from_json(const Json& json, const std::string& where) {
  if (!json.is_object()) throw Error(ErrorKind::config, "a device source must be an object", where);
  static const std::vector<std::string> keys{"vendor",  "mode",   "format",     "command",
                                             "pattern", "fields", "monitor_log"};
  DeviceSource source;
  for (const auto& [key, value] : json.items()) {
    if (key == "vendor") {
      source.vendor = string_value(value, key, where);
    } else if (key == "mode") {
      source.mode = parse_enum<Mode>(kModes, string_value(value, key, where), key, where);
    } else if (key == "format") {
      source.format = parse_enum<Format>(kFormats, string_value(value, key, where), key, where);
    } else if (key == "command") {
      source.command = string_list(value, key, where);
    } else if (key == "pattern") {
      source.pattern = string_value(value, key, where);
    } else if (key == "fields") {
      source.fields = string_list(value, key, where);
    } else if (key == "monitor_log") {
      source.monitor_log = string_value(value, key, where);
    } else {
      throw Error(
          ErrorKind::config,
          fmt::format("unknown key '{}' in a device source{}", key, did_you_mean(key, keys)), where,
          "known: " + join(keys, ", "));
    }
  }
  validate(source, where);
  return source;
}

void validate(const DeviceSource& source, const std::string& where) {
  if (source.monitor_log.find('/') != std::string::npos || source.monitor_log == "..")
    throw Error(ErrorKind::config,
                fmt::format("monitor_log '{}' must be a plain file name", source.monitor_log),
                where);
  if (source.mode == Mode::none) return;
  if (source.command.empty() || source.command.front().empty())
    throw Error(ErrorKind::config,
                fmt::format("a device source of mode {} needs a command", to_string(source.mode)),
                where, "give the command as a list, or use mode none");
  static_cast<void>(expand_command(source.command, std::chrono::seconds(1), where));
  static_cast<void>(DeviceParser(source, where));
}

}  // namespace assay::telemetry
