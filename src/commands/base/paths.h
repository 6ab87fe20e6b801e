#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"

namespace assay::commands {

/// A suite given on the command line: a path, or a name in conf/suites. Throws Error of kind usage
/// that lists the existing names.
[[nodiscard]] std::filesystem::path find_suite(const std::string& name,
                                               const catalog::ConfDirs& conf_dirs);

/// The names of the suites in conf/suites, sorted.
[[nodiscard]] std::vector<std::string> suite_names(const catalog::ConfDirs& conf_dirs);

/// A small text file named on the command line. Throws Error of kind usage if it is missing, not a
/// regular file, or larger than 4 MiB.
[[nodiscard]] std::string read_given_file(const std::string& path);

/// The place on this machine of a documentation page such as "docs/rules.md", in the reader's
/// language if available; its name if the documentation is not installed.
[[nodiscard]] std::string place_of_page(std::string_view page);

/// "run20261115T101500Z-3f2a".
[[nodiscard]] std::string new_run_id();

}  // namespace assay::commands
