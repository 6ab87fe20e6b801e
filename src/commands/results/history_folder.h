#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "history/run_filter.h"
#include "history/run_index.h"

namespace assay::commands {

/// How 'history' selects runs.
struct RunChoice {
  std::string results = "results";
  std::vector<std::string> cases{};
  std::vector<std::string> hosts{};
  std::string since{};
  std::string until{};
};
void add_run_choice(CLI::App& command, RunChoice& choice);
void add_results_option(CLI::App& command, std::string& results);
/// Throws Error of kind usage.
[[nodiscard]] history::RunFilter filter_of(const RunChoice& choice);

/// Additional criteria of 'find', 'rm' and 'archive'.
struct FindChoice {
  RunChoice runs{};
  std::vector<std::string> verdicts{};
  std::vector<std::string> tags{};
  std::vector<std::string> conditions{};
  std::string note{};

  /// Whether anything besides the folder of results is given.
  [[nodiscard]] bool given() const;
};
void add_find_choice(CLI::App& command, FindChoice& choice);
/// Throws Error of kind usage.
[[nodiscard]] history::RunFilter filter_of(const FindChoice& choice);

/// Shows progress on stderr if that is a terminal.
[[nodiscard]] history::IndexOptions index_options(bool rebuild = false);

/// The folder of a run given as a path, or by its name in the folder of results. Does not resolve
/// links. Throws Error of kind usage.
[[nodiscard]] std::filesystem::path run_folder(const std::string& name, const std::string& results);

/// Prints them on stderr, one per line.
void say_remarks(const std::vector<std::string>& remarks);

}  // namespace assay::commands
