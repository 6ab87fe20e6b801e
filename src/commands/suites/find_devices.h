#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "plan/devices.h"

namespace assay::commands {

/// Looks for devices of `vendor`, or of every vendor if it is empty: first with the vendor's tool,
/// then, if `built_in`, with assay-train, which must be able to compute on each. The result
/// contains only vendors of which this machine shows a sign. Takes milliseconds without devices,
/// seconds with them. Does not throw for a machine that lacks something.
[[nodiscard]] std::vector<plan::DeviceSearch> search_devices(const catalog::Catalog& catalog,
                                                             const std::string& vendor,
                                                             bool built_in);

/// Why the built-in training cannot run on this machine, and what to do; empty if it can.
[[nodiscard]] std::string why_no_training();

/// Implements plan::FindDevices. Tells the user about the devices on standard error.
[[nodiscard]] plan::Devices find_devices(const catalog::Catalog& catalog, const std::string& vendor,
                                         bool built_in);

}  // namespace assay::commands
