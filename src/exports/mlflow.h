#pragma once

#include <filesystem>
#include <string>

#include "exports/logged_run.h"
#include "judge/result.h"

namespace assay::exports {

struct MlflowExport {
  std::size_t runs = 0;
  std::string experiment;  ///< its name: the suite's
};

/// Adds the run to a file store of MLflow (a folder "mlruns", made where there is none): the suite
/// is an experiment, each round a run with its settings as parameters, its results as metrics
/// "result/NAME" and its curves with their history. Whole runs appear at once; names are the same
/// every time, so that a round is never there twice. Throws Error of kind usage where a round is
/// there already or the folder holds something else, of kind environment where it cannot be
/// written.
MlflowExport export_mlflow(const RunFiles& files, const judge::RunResult& result,
                           const std::filesystem::path& store);

/// A name as MLflow allows it: letters, digits, '_', '-', '.', ' ' and '/', at most 250 bytes; all
/// else becomes '_'.
[[nodiscard]] std::string mlflow_key(std::string_view name);

}  // namespace assay::exports
