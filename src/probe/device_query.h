#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "core/time.h"

namespace assay::probe {

/// How a vendor's own tool lists its devices: `query` of conf/vendors/*.yaml.
struct DeviceQuery {
  std::vector<std::string> command;
  std::string pattern;              ///< RE2; a line that contains it is one device
  std::vector<std::string> fields;  ///< meanings of the pattern's groups
};

[[nodiscard]] Json to_json(const DeviceQuery& query);
/// Tolerant: missing values and those of another type are empty.
[[nodiscard]] DeviceQuery device_query_from_json(const Json& json);

/// One object a device, e.g. {"index": "0", "name": "NVIDIA H200"}, from the tool's output. Pure.
[[nodiscard]] Json parse_devices(const std::string& output, const DeviceQuery& query);

/// A vendor's tool's report about its devices.
struct DeviceListing {
  bool installed = false;        ///< the tool is there
  Json devices = Json::array();  ///< as parse_devices() gives them
  std::string problem;           ///< why there are none: the tool fails, hangs, lists nothing
  std::string advice{};
};

/// Runs the query, bounded by `timeout`. Does not throw.
[[nodiscard]] DeviceListing query_devices(const DeviceQuery& query, Nanoseconds timeout);

/// The devices of query_devices(). An empty list when the tool is absent, fails or hangs:
/// `assay check` reports why; a description of the machine leaves the devices out.
[[nodiscard]] Json list_devices(const DeviceQuery& query, Nanoseconds timeout);

}  // namespace assay::probe
