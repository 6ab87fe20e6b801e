#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"

namespace assay::commands {

/// A suite as given on the command line: a path, or the name of one in conf/suites.
/// Throws Error of kind usage with the names that exist.
[[nodiscard]] std::filesystem::path find_suite(const std::string& name,
                                               const catalog::ConfDirs& conf_dirs);

/// The names of the suites in conf/suites, sorted.
[[nodiscard]] std::vector<std::string> suite_names(const catalog::ConfDirs& conf_dirs);

/// A small text file that was named on the command line. Throws Error of kind usage when it is not
/// there or not a regular file, or larger than 4 MiB.
[[nodiscard]] std::string read_given_file(const std::string& path);

/// Where a page of the documents, such as "docs/rules.md", lies on this machine, in the reader's
/// language where there is one; its name where the documents are not there.
[[nodiscard]] std::string place_of_page(std::string_view page);

/// "run20261115T101500Z-3f2a".
[[nodiscard]] std::string new_run_id();

}  // namespace assay::commands
