#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace assay::app {

/// Runs to remove or to archive: named ones, or those that need not be kept.
struct RunSelection {
  std::vector<std::string> runs{};
  std::string results = "results";
  std::optional<std::size_t> keep_last{};
  std::string older_than{};
  bool keep_tagged = false;
  std::vector<std::string> keep_tags{};

  [[nodiscard]] bool by_rule() const { return keep_last || !older_than.empty(); }
};

void add_selection(CLI::App& command, RunSelection& selection);

/// Their folders; each can be removed. Throws Error of kind usage: for no choice, for two kinds of
/// choice, and for one that cannot be removed, so that it is all or nothing.
[[nodiscard]] std::vector<std::filesystem::path> selected_runs(const RunSelection& selection);

/// Asks "`question`? [y/N]" on a terminal. Where nobody can be asked, a choice by rule was only
/// shown, and named runs are an Error of kind usage.
[[nodiscard]] bool agreed(const std::string& question, bool yes, const RunSelection& selection);

}  // namespace assay::app
