#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace assay::commands {

/// Prints what may follow `words` on the command line, for the scripts of 'assay completion'.
int print_candidates(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace assay::commands
