#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launch/backend.h"

namespace assay::launch {

/// The backend of the plan's launcher. `bindir` holds
/// assay-agent and the built-in workloads. Throws Error of kind environment when they are missing.
[[nodiscard]] std::unique_ptr<Backend> make_backend(const BackendContext& context,
                                                    const std::filesystem::path& bindir);

/// What a run would do, without doing anything of it.
struct DryRun {
  Json json;
  std::string text;  ///< for people
};
[[nodiscard]] DryRun describe_run(const plan::Plan& plan, const std::filesystem::path& bindir,
                                  const std::filesystem::path& run_path);

/// Of a launcher that leaves all to a service: asks it, as a run does first, whether it has what
/// the plan needs, and gives what it found. Nothing for launchers with agents, which preflight()
/// checks. `waiting` gets what takes its time. Throws Error.
[[nodiscard]] std::optional<Json> check_jobs_of(
    const plan::Plan& plan, const std::function<void(const std::string&)>& waiting);

}  // namespace assay::launch
