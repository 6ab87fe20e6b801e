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

/// Runs to remove or to archive: named ones, or those that fit what is given and need not be kept.
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

/// A run that was selected, and what it takes on the disk.
struct SelectedRun {
  std::filesystem::path folder;
  std::uint64_t bytes = 0;
};

/// Each can be removed. `archived`: whether a rule chooses archived runs, too, or others only.
/// Throws Error of kind usage: for no choice, for two kinds of choice, and for one that cannot be
/// removed, so that it is all or nothing.
[[nodiscard]] std::vector<SelectedRun> selected_runs(const RunSelection& selection, bool archived);

/// Shows the runs and, unless it is a dry run, asks "`verb` 3 runs, 12 MB? [y/N]" on a terminal.
/// Where nobody can be asked, a choice by rule was only shown, and named runs are an Error of kind
/// usage.
[[nodiscard]] bool agreed(const std::string& verb, const std::vector<SelectedRun>& runs,
                          const RunSelection& selection);

/// "3 runs, 12 MB"
[[nodiscard]] std::string runs_and_bytes(const std::vector<SelectedRun>& runs);

/// Does it to each; an Error is said, and the others are done. The exit code of the last one.
[[nodiscard]] int for_each_run(
    const std::vector<SelectedRun>& runs,
    const std::function<void(const std::filesystem::path& folder)>& action);

}  // namespace assay::commands
