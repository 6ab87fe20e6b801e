#pragma once

#include <filesystem>
#include <string>

#include "exports/logged_run.h"
#include "judge/result.h"

namespace assay::exports {

struct MlflowExport {
  std::size_t runs = 0;
  std::string experiment;  ///< its name, which is the suite's
};

/// Adds the run to an MLflow file store (a folder "mlruns", created if missing): the suite is an
/// experiment, each round a run with its settings as parameters, its results as metrics
/// "result/NAME" and its curves with their history. Complete runs appear at once; names are always
/// the same, so that no round is there twice. Throws Error of kind usage if a round already exists
/// or the folder contains something else, of kind environment if it cannot be written.
MlflowExport export_mlflow(const RunFiles& files, const judge::RunResult& result,
                           const std::filesystem::path& store);

/// A name allowed by MLflow: letters, digits, '_', '-', '.', ' ' and '/', at most 250 bytes;
/// anything else becomes '_'.
[[nodiscard]] std::string mlflow_key(std::string_view name);

}  // namespace assay::exports
