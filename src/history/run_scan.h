#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace assay::history {

/// Identifies changes of a run: result.json is rewritten, and files in the run's folder are
/// replaced or added.
struct Stamp {
  std::int64_t result_mtime_ns = 0;
  std::int64_t result_bytes = -1;  ///< -1: no result.json
  std::int64_t folder_mtime_ns = 0;

  bool operator==(const Stamp&) const = default;
};

struct RunFolder {
  std::string name;
  Stamp stamp;
};

/// Throws Error of kind usage if there is no such folder, or it cannot be read.
void require_results(const std::filesystem::path& results);

/// The folders in `results` by name, except hidden ones and links ("latest"). Only reading them
/// shows whether they are runs. Throws as require_results() does.
[[nodiscard]] std::vector<RunFolder> scan_results(const std::filesystem::path& results,
                                                  int threads);

/// The stamp of a folder; a default one if it does not exist.
[[nodiscard]] Stamp stamp_of(const std::filesystem::path& run);

/// Whether a folder contains a run or its remains: plan.json, result.json or journal.jsonl.
[[nodiscard]] bool looks_like_run(const std::filesystem::path& folder);

}  // namespace assay::history
