#pragma once

#include <string>

#include "catalog/catalog.h"
#include "plan/devices.h"
#include "plan/suite.h"

namespace assay::plan {

/// `vendor: auto`: the vendor of whichever devices this machine has.
inline constexpr const char* kAnyVendor = "auto";

/// Whether the suite depends on the planning machine's devices: `vendor: auto`, `procs: devices` or
/// `needs`.
[[nodiscard]] bool uses_devices(const Suite& suite);

/// The suite with the devices filled in where it asks for them: vendor, hardware of cases that name
/// none, processes, and the variable that limits the devices visible to programs. Their origin is
/// "found on this machine".
[[nodiscard]] Suite with_devices(const Suite& suite, const Devices& devices,
                                 const catalog::Catalog& catalog);

/// Why the case is left out on these devices; empty when it is not.
[[nodiscard]] std::string unmet_need(const SuiteCase& wanted, const Devices& devices);

}  // namespace assay::plan
