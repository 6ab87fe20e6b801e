#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "exports/logged_run.h"
#include "judge/result.h"

namespace assay::exports {

struct WandbExport {
  std::string project;                         ///< the suite, with W&B's restrictions on names
  std::vector<std::filesystem::path> folders;  ///< "FOLDER/offline-run-…", one per round
};

/// Adds the run to a folder in the form of Weights & Biases' offline client ("wandb", created if
/// missing), for `wandb sync`: the suite is a project, the run a group, each round a run with its
/// settings as config, its results and the last values of its curves as summary, its curves as
/// history and its telemetry as system metrics. Complete runs appear at once; names and bytes are
/// always the same, so that no round is there twice. Throws Error of kind usage if a round already
/// exists (nothing is then written) or the folder contains something else, of kind environment if
/// it cannot be written.
WandbExport export_wandb(const RunFiles& files, const judge::RunResult& result,
                         const std::filesystem::path& folder);

/// A project name allowed by W&B: / \ # ? % : and control characters become '_', and it has at most
/// 128 characters.
[[nodiscard]] std::string wandb_project(std::string_view name);

/// A number in the form of W&B's client: JSON with the names NaN, Infinity and -Infinity.
[[nodiscard]] std::string wandb_number(double value);

}  // namespace assay::exports
