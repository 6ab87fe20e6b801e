#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "core/time.h"

namespace assay::probe {

/// How a vendor's tool lists its devices: `query` in conf/vendors/*.yaml.
struct DeviceQuery {
  std::vector<std::string> command;
  std::string pattern;              ///< RE2; a line containing it is one device
  std::vector<std::string> fields;  ///< meanings of the pattern's groups
};

[[nodiscard]] Json to_json(const DeviceQuery& query);
/// Tolerant: missing or mistyped members are empty.
[[nodiscard]] DeviceQuery device_query_from_json(const Json& json);

/// One object per device in the tool's output, e.g. {"index": "0", "name": "NVIDIA H200"}. Pure.
[[nodiscard]] Json parse_devices(const std::string& output, const DeviceQuery& query);

/// A vendor tool's report about its devices.
struct DeviceListing {
  bool installed = false;        ///< the tool exists
  Json devices = Json::array();  ///< from parse_devices()
  std::string problem;           ///< why there are none: the tool fails, hangs or lists nothing
  std::string advice{};
};

/// Runs the query within `timeout`. Does not throw.
[[nodiscard]] DeviceListing query_devices(const DeviceQuery& query, Nanoseconds timeout);

/// The devices from query_devices(), or an empty list if the tool is absent, fails or hangs: `assay
/// check` reports the reason, a description of the machine leaves the devices out.
[[nodiscard]] Json list_devices(const DeviceQuery& query, Nanoseconds timeout);

}  // namespace assay::probe
