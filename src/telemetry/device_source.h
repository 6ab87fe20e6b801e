#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace assay::telemetry {

/// How the devices of a vendor are sampled: data from conf/vendors/*.yaml, sent to the agent.
struct DeviceSource {
  enum class Mode {
    none,  ///< no devices (cpu)
    loop,  ///< the command prints sample after sample until it is stopped
    once,  ///< the command is run again for every sample
  };
  enum class Format {
    assay,  ///< lines of assay-nvml (docs/telemetry.md)
    csv,    ///< one line per device, values separated by commas, columns named by `fields`
    regex,  ///< every match of `pattern` in the output is a device, groups named by `fields`
  };
  std::string vendor;
  Mode mode = Mode::none;
  Format format = Format::csv;
  std::vector<std::string> command;  ///< argv; {interval_ms} and {interval_s} are expanded
  std::string pattern;
  std::vector<std::string> fields;  ///< column names of telemetry.csv, "index", or "" to skip; a
                                    ///< suffix ":MiB", ":W", ":%" … gives the unit to convert from
  std::string monitor_log;  ///< FlagPerf's file name, "nvidia_monitor.log"
};

[[nodiscard]] Json to_json(const DeviceSource& source);
[[nodiscard]] DeviceSource device_source_from_json(const Json& json, const std::string& where);

}  // namespace assay::telemetry
