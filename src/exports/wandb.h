#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "exports/logged_run.h"
#include "judge/result.h"

namespace assay::exports {

struct WandbExport {
  std::string project;                         ///< the suite, as W&B takes its name
  std::vector<std::filesystem::path> folders;  ///< "FOLDER/offline-run-…", one for each round
};

/// Adds the run to a folder as Weights & Biases' client fills it offline ("wandb", made where there
/// is none), for `wandb sync`: the suite is a project, the run a group, each round a run with its
/// settings as config, its results and the last values of its curves as summary, its curves as
/// history and its telemetry as system metrics. Whole runs appear at once; names and bytes are the
/// same every time, so that a round is never there twice. Throws Error of kind usage where a round
/// is there already (then nothing is written) or the folder holds something else, of kind
/// environment where it cannot be written.
WandbExport export_wandb(const RunFiles& files, const judge::RunResult& result,
                         const std::filesystem::path& folder);

/// A name as W&B allows it for a project: none of / \ # ? % : and control characters, which become
/// '_', and at most 128 characters.
[[nodiscard]] std::string wandb_project(std::string_view name);

/// A number as W&B's client writes it, JSON with the names NaN, Infinity and -Infinity.
[[nodiscard]] std::string wandb_number(double value);

}  // namespace assay::exports
