#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "judge/result.h"

namespace assay::history {

/// A run that was never run.
struct MadeRun {
  std::string id;       ///< and folder
  std::string started;  ///< ISO
  std::vector<double> speeds{100};
  std::string host = "node1";
  std::string driver = "550.54";
  judge::Validity validity = judge::Validity::valid;
  std::string unit = "samples/s";
  std::string case_name = "resnet50";
  int batch_size = 32;
};

[[nodiscard]] judge::RunResult result_of(const MadeRun& made);

/// Writes its result.json, and a plan.json that nobody reads, into `results`/`folder` (by default,
/// its id).
std::filesystem::path write_run(const std::filesystem::path& results, const MadeRun& made,
                                const std::string& folder = {});

/// So many runs, one a day from 2026-01-01 on, with a spread of 1 %; those from `slower_from` on
/// have lost 5 % with another driver.
std::vector<MadeRun> daily_runs(std::size_t count, std::size_t slower_from);

}  // namespace assay::history
