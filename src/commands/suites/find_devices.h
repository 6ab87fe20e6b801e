#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "plan/devices.h"

namespace assay::commands {

/// Looks for devices of `vendor`, or of every vendor when it is empty: first by the vendor's own
/// tool, then, with `built_in`, by assay-train, which must be able to compute on each of them. Only
/// vendors of which this machine has a sign are in the result. Takes milliseconds where there is
/// none, seconds where there is. Does not throw for a machine that lacks something.
[[nodiscard]] std::vector<plan::DeviceSearch> search_devices(const catalog::Catalog& catalog,
                                                             const std::string& vendor,
                                                             bool built_in);

/// Why the built-in training cannot run on this machine, with what to do; empty: it can.
[[nodiscard]] std::string why_no_training();

/// plan::FindDevices. Says on standard error what a user should know of them.
[[nodiscard]] plan::Devices find_devices(const catalog::Catalog& catalog, const std::string& vendor,
                                         bool built_in);

}  // namespace assay::commands
