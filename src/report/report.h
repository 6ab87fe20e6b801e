#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "judge/result.h"
#include "plan/plan.h"

namespace assay::report {

/// The input of a report, and its destination.
struct ReportInput {
  const judge::RunResult& result;
  const plan::Plan& plan;
  std::filesystem::path run_dir;
};

/// A report format. A new one needs its own file, a line in report.cpp's table and, so that no case
/// takes its name, one in core/run_layout.cpp.
struct Format {
  std::vector<std::string_view> files;  ///< from core/run_layout.h
  /// Returns the content of the only file; if nullptr, `write` writes all files.
  std::string (*render)(const judge::RunResult& result) = nullptr;
  void (*write)(const ReportInput& input) = nullptr;
  bool always = true;  ///< written for every run
};

/// All formats in writing order. result.json is last: when it exists, the others are complete.
[[nodiscard]] std::span<const Format> formats();

/// Writes all formats to `run_dir`, each file atomically: readers see the old or the new file.
/// Throws Error of kind environment if the folder cannot be written.
void write_reports(const judge::RunResult& result, const plan::Plan& plan,
                   const std::filesystem::path& run_dir);

}  // namespace assay::report
