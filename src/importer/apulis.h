#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostic.h"

namespace assay::importer {

struct ApulisImport {
  std::string suite_yaml;               ///< with one case
  std::vector<Diagnostic> diagnostics;  ///< what was not taken over, with its place
};

/// Reads a job of the Apulis platform: the JSON that its form sends (POST /apis/PostJob), or a
/// job's detail with that in `jobParams`. Keys, passwords and variables that look like secrets are
/// never copied and never shown; each is named with its place. Throws Error of kind config at
/// file:line:column for what makes no sense.
[[nodiscard]] ApulisImport import_apulis(const std::filesystem::path& file);
/// The same for a text; `file` is its name in diagnostics.
[[nodiscard]] ApulisImport import_apulis_text(std::string_view text, const std::string& file);

}  // namespace assay::importer
