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

/// The launchers; a new one is a new type here. Each has kName, kDescription, keys(), traits(),
/// fields() and, unless it has no options, read(). Its folder in launch/ defines make_launcher() if
/// it starts agents, or make_backend(), describe_jobs() and check_jobs() if it submits jobs.
/// adapt(), node_variables() and result_files() are optional.
using LauncherOptions =
    std::variant<LocalOptions, SshOptions, SlurmOptions, ModelArtsOptions, HttpOptions>;

struct LauncherInfo {
  std::string name;
  std::string description;
  std::vector<std::string> keys;  ///< of its options, in a suite
};
[[nodiscard]] const std::vector<LauncherInfo>& launcher_catalog();
[[nodiscard]] std::vector<std::string> launcher_names();

[[nodiscard]] std::string launcher_name(const LauncherOptions& options);
[[nodiscard]] LauncherTraits traits_of(const LauncherOptions& options);

// Features of only some launchers. Callers ask for the feature, not for a launcher.

/// The default user and port for ssh to the hosts; empty when no ssh is used or the user's
/// ssh_config decides.
[[nodiscard]] SshAccess common_access(const LauncherOptions& options);
/// Variables that the launcher adds to all ranks of a case: the type's node_variables().
[[nodiscard]] std::map<std::string, std::string> node_variables(const LauncherOptions& options,
                                                                const CasePlan& plan);
/// The files that contain a job's result: the type's result_files(). Nothing: the ranks print it.
[[nodiscard]] std::optional<ResultFiles> result_files(const LauncherOptions& options);

[[nodiscard]] Json to_json(const LauncherOptions& options);
/// Throws Error of kind config at `where` for an unknown launcher or an option of the wrong type.
[[nodiscard]] LauncherOptions launcher_options_from_json(const std::string& launcher,
                                                         const Json& json,
                                                         const std::string& where);

/// Reads the options of the launcher `name` from a suite's `cluster`; checks and ignores those of
/// other launchers. Throws Error of kind config.
[[nodiscard]] LauncherOptions read_launcher_options(const std::string& name,
                                                    const config::Mapping& cluster,
                                                    const config::Node& node);

}  // namespace assay::plan
