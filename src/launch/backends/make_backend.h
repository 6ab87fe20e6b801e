#pragma once

#include <filesystem>
#include <memory>
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

}  // namespace assay::launch
