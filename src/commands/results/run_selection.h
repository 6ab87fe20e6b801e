#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands/results/history_folder.h"

namespace assay::commands {

/// Selects runs to remove or archive: named ones, or matching ones that need not be kept.
struct RunSelection {
  std::vector<std::string> names{};
  FindChoice choice{};
  std::optional<std::size_t> keep_last{};
  std::optional<std::uint32_t> keep_days{};
  std::string older_than{};
  bool keep_tagged = false;
  std::vector<std::string> keep_tags{};
  bool dry_run = false;
  bool yes = false;

  [[nodiscard]] bool by_rule() const {
    return keep_last || keep_days || !older_than.empty() || choice.given();
  }
};

void add_selection(CLI::App& command, RunSelection& selection);

/// A selected run and the disk space it uses.
struct SelectedRun {
  std::filesystem::path folder;
  std::uint64_t bytes = 0;
};

/// All of them can be removed. `archived`: whether a rule selects archived runs as well or only
/// others. Throws Error of kind usage for no selection, for two kinds of selection, and if any run
/// cannot be removed, so that it is all or nothing.
[[nodiscard]] std::vector<SelectedRun> selected_runs(const RunSelection& selection, bool archived);

/// Shows the runs and, unless it is a dry run, asks "`verb` 3 runs, 12 MB? [y/N]" on a terminal. If
/// nobody can be asked, a selection by rule is only shown, and named runs are an Error of kind
/// usage.
[[nodiscard]] bool agreed(const std::string& verb, const std::vector<SelectedRun>& runs,
                          const RunSelection& selection);

/// "3 runs, 12 MB"
[[nodiscard]] std::string runs_and_bytes(const std::vector<SelectedRun>& runs);

/// Acts on each; reports an Error and does the others. Returns the exit code of the last one.
[[nodiscard]] int for_each_run(
    const std::vector<SelectedRun>& runs,
    const std::function<void(const std::filesystem::path& folder)>& action);

}  // namespace assay::commands
