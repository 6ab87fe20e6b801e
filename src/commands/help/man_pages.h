#pragma once

#include <map>
#include <string>

#include <CLI/CLI.hpp>

namespace assay::commands {

/// Manual pages of section 1, by file name: assay.1, and assay-COMMAND.1 for each command. Made
/// from the commands' own help; the same program yields the same bytes.
[[nodiscard]] std::map<std::string, std::string> man_pages(const CLI::App& app);

}  // namespace assay::commands
