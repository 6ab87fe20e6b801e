#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostic.h"

namespace assay::importer {

struct ApulisImport {
  std::string suite_yaml;               ///< with one case
  std::vector<Diagnostic> diagnostics;  ///< what was not carried over, with its place
};

/// Reads an Apulis platform job: the JSON sent by its form (POST /apis/PostJob), or a job's detail
/// with that in `jobParams`. Keys, passwords and variables that look like secrets are never copied
/// or shown; each is named with its place. Throws Error of kind config at file:line:column for
/// invalid content.
[[nodiscard]] ApulisImport import_apulis(const std::filesystem::path& file);
/// The same for a text; `file` names it in diagnostics.
[[nodiscard]] ApulisImport import_apulis_text(std::string_view text, const std::string& file);

}  // namespace assay::importer
