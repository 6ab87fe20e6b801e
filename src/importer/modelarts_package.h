#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/diagnostic.h"

namespace assay::importer {

struct ModelArtsImport {
  std::string suite_yaml;  ///< a suite with the launcher `modelarts` and one case
  std::vector<Diagnostic> diagnostics;
};

/// Reads an ais-bench package for ModelArts: modelarts_config.py (never executed), config.sh beside
/// it and config.json. `dir` is the package, its code/ or its code/config/. Keys and passwords are
/// never copied or shown; each is named with its place. Throws Error of kind config if `dir` is not
/// such a package, or a required setting is missing, empty or not a literal.
[[nodiscard]] ModelArtsImport import_modelarts(const std::filesystem::path& dir);

}  // namespace assay::importer
