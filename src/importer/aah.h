#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostic.h"

namespace assay::importer {

struct AahImport {
  std::string suite_yaml;
  std::vector<Diagnostic> diagnostics;  ///< what was not carried over, with its place
};

/// Reads the config.yml of an AAH (AIPerf) experiment and writes a suite with one `automl` case.
/// The command of its trials is parsed but never executed. Throws Error of kind config at
/// file:line:column for an invalid value; keys unknown to AAH are reported.
[[nodiscard]] AahImport import_aah(const std::filesystem::path& file);
/// The same for a text; `file` names it in diagnostics.
[[nodiscard]] AahImport import_aah_text(std::string_view text, const std::string& file);

}  // namespace assay::importer
