#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "plan/launchers/http_options.h"
#include "plan/launchers/local_options.h"
#include "plan/launchers/modelarts_options.h"
#include "plan/launchers/slurm_options.h"
#include "plan/launchers/ssh_options.h"

namespace assay::plan {

/// The launchers: a new one is a type here. Each has kName, kDescription, keys(), traits(),
/// fields() and, unless it has no options, read(); and, defined in its folder of launch/,
/// make_launcher() when it starts agents, or make_backend(), describe_jobs() and check_jobs() when
/// it submits jobs. adapt(), node_variables() and result_files() are for those that need them.
using LauncherOptions =
    std::variant<LocalOptions, SshOptions, SlurmOptions, ModelArtsOptions, HttpOptions>;

struct LauncherInfo {
  std::string name;
  std::string description;
  std::vector<std::string> keys;  ///< of its options in a suite
};
[[nodiscard]] const std::vector<LauncherInfo>& launcher_catalog();
[[nodiscard]] std::vector<std::string> launcher_names();

[[nodiscard]] std::string launcher_name(const LauncherOptions& options);
[[nodiscard]] LauncherTraits traits_of(const LauncherOptions& options);

// What only some launchers have. Who needs it asks for it, not for a launcher.

/// As whom, and at which port, ssh reaches the hosts that say nothing else; empty: no ssh is used,
/// or it is left to the user's ssh_config.
[[nodiscard]] SshAccess common_access(const LauncherOptions& options);
/// Variables that the launcher wants for all ranks of a case: the type's node_variables().
[[nodiscard]] std::map<std::string, std::string> node_variables(const LauncherOptions& options,
                                                                const CasePlan& plan);
/// The files that a job's result is read from: the type's result_files(). Nothing: it is what the
/// ranks print.
[[nodiscard]] std::optional<ResultFiles> result_files(const LauncherOptions& options);

[[nodiscard]] Json to_json(const LauncherOptions& options);
/// Throws Error of kind config at `where` when there is no launcher of that name, or an option is
/// of the wrong type.
[[nodiscard]] LauncherOptions launcher_options_from_json(const std::string& launcher,
                                                         const Json& json,
                                                         const std::string& where);

/// The options of the launcher `name` in a suite's `cluster`. Those of other launchers are checked
/// and left. Throws Error of kind config.
[[nodiscard]] LauncherOptions read_launcher_options(const std::string& name,
                                                    const config::Mapping& cluster,
                                                    const config::Node& node);

}  // namespace assay::plan
