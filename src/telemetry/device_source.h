#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace assay::telemetry {

/// How a vendor's devices are sampled: data from conf/vendors/*.yaml that is sent to the agent.
struct DeviceSource {
  enum class Mode {
    none,  ///< no devices (cpu)
    loop,  ///< the command prints samples until it is stopped
    once,  ///< the command runs once per sample
  };
  enum class Format {
    assay,  ///< lines of assay-nvml (docs/telemetry.md)
    csv,    ///< one line per device with comma-separated values; columns are named by `fields`
    regex,  ///< each match of `pattern` in the output is a device; groups are named by `fields`
  };
  std::string vendor;
  Mode mode = Mode::none;
  Format format = Format::csv;
  /// argv. Expands {bindir} (the folder of the sampling program), {interval_ms} and {interval_s}
  /// (whole, at least 1); "{{" is a brace.
  std::vector<std::string> command;
  std::string pattern;
  std::vector<std::string> fields;  ///< column names of telemetry.csv, "index", or "" to skip; a
                                    ///< suffix ":MiB", ":W", ":%" … names the unit to convert from
  std::string monitor_log;  ///< FlagPerf's file name, "nvidia_monitor.log"; "": from vendor
};

[[nodiscard]] std::string_view to_string(DeviceSource::Mode mode) noexcept;
[[nodiscard]] std::string_view to_string(DeviceSource::Format format) noexcept;

[[nodiscard]] Json to_json(const DeviceSource& source);
/// Missing keys keep their defaults. Throws Error of kind config at `where` for an unknown key, a
/// wrong type, and everything that validate() finds.
[[nodiscard]] DeviceSource device_source_from_json(const Json& json, const std::string& where);
inline void decode_json(const Json& json, DeviceSource& to, const std::string& where) {
  to = device_source_from_json(json, where);
}

/// Throws Error of kind config at `where` if the source cannot work: no command, an unknown field
/// or unit, a pattern that does not compile or has fewer groups than fields.
void validate(const DeviceSource& source, const std::string& where);

}  // namespace assay::telemetry
