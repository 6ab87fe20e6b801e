#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace assay::plan {

struct CasePlan;

/// One value of a case's effective configuration.
struct Setting {
  std::string key;     ///< as in a suite: "limits.time", "config.lr", "env.OMP_NUM_THREADS"
  Json value;          ///< without what looks like a secret
  std::string origin;  ///< "quick.yaml:9"; empty: not recorded
  std::string use;     ///< of a config key: "applied", "offered"; "declared"; else empty
};

/// All of them, with what a suite calls them: identity, command, environment, configuration,
/// limits, target. The suite's path is shortened to its file name in origins, because it may tell
/// about the user's machine. Rules are apart, see CasePlan::rules.
[[nodiscard]] std::vector<Setting> effective_settings(const CasePlan& plan,
                                                      const std::string& suite_file);

/// `origin` with the path of the suite shortened to its file name.
[[nodiscard]] std::string short_origin(const std::string& origin, const std::string& suite_file);

}  // namespace assay::plan
