#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace assay::plan {

struct CasePlan;

/// One value in a case's effective configuration.
struct Setting {
  std::string key;     ///< as in a suite: "limits.time", "config.lr", "env.OMP_NUM_THREADS"
  Json value;          ///< with likely secrets hidden
  std::string origin;  ///< "quick.yaml:9"; empty when not recorded
  std::string use;     ///< for config keys "applied", "offered" or "declared"; else empty
};

/// All settings under their suite names: identity, command, environment, configuration, limits,
/// target. Origins show only the suite's file name, because its path may reveal something about the
/// user's machine. Rules are separate, see CasePlan::rules.
[[nodiscard]] std::vector<Setting> effective_settings(const CasePlan& plan,
                                                      const std::string& suite_file);

/// `origin` with the suite's path shortened to its file name.
[[nodiscard]] std::string short_origin(const std::string& origin, const std::string& suite_file);

}  // namespace assay::plan
