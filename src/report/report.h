#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "judge/result.h"
#include "plan/plan.h"

namespace assay::report {

/// A report's input, and its folder.
struct ReportInput {
  const judge::RunResult& result;
  const plan::Plan& plan;
  std::filesystem::path run_dir;
};

/// A report format. A new one is its own file, a line in the table of report.cpp and, so that no
/// case takes its name, one in core/run_layout.cpp.
struct Format {
  std::vector<std::string_view> files;  ///< of core/run_layout.h
  /// The content of the only file; or nullptr, and `write` writes the files.
  std::string (*render)(const judge::RunResult& result) = nullptr;
  void (*write)(const ReportInput& input) = nullptr;
  bool always = true;  ///< every run has them
};

/// All formats, in the order in which they are written. result.json is the last: when it exists,
/// the others are complete.
[[nodiscard]] std::span<const Format> formats();

/// Writes all formats into `run_dir`, each file atomically: a reader sees the old one or the new.
/// Throws Error of kind environment when the folder cannot be written.
void write_reports(const judge::RunResult& result, const plan::Plan& plan,
                   const std::filesystem::path& run_dir);

}  // namespace assay::report
