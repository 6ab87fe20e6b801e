#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "plan/devices.h"
#include "plan/plan.h"
#include "plan/suite.h"

namespace assay::plan {

/// Finds the devices of `vendor` on this machine; any vendor's if it is empty. `built_in`: Assay's
/// own workloads must run on them. Throws Error of kind environment when there are none.
using FindDevices = std::function<Devices(const std::string& vendor, bool built_in)>;

struct PlanOptions {
  std::vector<std::string> overrides;  ///< "key=value" of --set (docs/suite.md), in order
  std::vector<std::string> only;       ///< case names, models or globs; empty: every case
  std::optional<int> repeat;           ///< overrides every case's repeats
  std::optional<Challenge> challenge;  ///< to answer: only its case, with its seed
  std::string bindir;                  ///< folder of the programs, for {bindir}
  std::string run_id;
  std::string created;  ///< ISO, UTC; empty: now
  /// Called once for a suite that depends on devices, which without it is an error.
  FindDevices find_devices{};
};

/// Resolves a suite: overrides, devices, workload defaults, rules, limits, commands. Pure except
/// for the time and `find_devices`. Throws Error of kind config that names the wrong line of the
/// file, or the wrong --set.
[[nodiscard]] Plan make_plan(const Suite& suite, const catalog::Catalog& catalog,
                             const PlanOptions& options = {});

/// The plan as --dry-run prints it. Placeholders that differ between ranks stay.
[[nodiscard]] std::string render_text(const Plan& plan);

}  // namespace assay::plan
