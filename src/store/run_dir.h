#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/run_layout.h"
#include "plan/plan.h"
#include "store/journal.h"

namespace assay::store {

/// Points `results`/latest at the newest run if its target is gone; removes it if there is none.
void mend_latest(const std::filesystem::path& results);

/// The files of one run. Evidence is written once; derived files can be deleted and recomputed.
class RunDir {
 public:
  /// Creates `parent`/`plan.run_id`, writes plan.json and points `parent`/latest at it.
  static RunDir create(const std::filesystem::path& parent, const plan::Plan& plan);
  /// Opens an existing run by its folder or a file in it. Throws Error of kind usage if it is not
  /// one.
  static RunDir open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] const plan::Plan& plan() const noexcept { return plan_; }
  [[nodiscard]] std::filesystem::path journal_file() const { return path_ / layout::kJournal; }
  [[nodiscard]] std::filesystem::path system_file() const { return path_ / layout::kSystem; }
  [[nodiscard]] std::filesystem::path live_file() const { return path_ / layout::kLive; }
  /// The folder layout::kLiveLogs.
  [[nodiscard]] std::filesystem::path live_logs() const { return path_ / layout::kLiveLogs; }
  /// The file for a detached run's batch job.
  [[nodiscard]] std::filesystem::path job_file() const { return path_ / layout::kJob; }

  /// <case>/round<N>; the case name (FlagPerf's layout) is checked in planning and unchanged.
  [[nodiscard]] std::filesystem::path round_dir(const std::string& case_name, int round) const;
  /// <case>/round<N>/<host>_noderank<i>
  [[nodiscard]] std::filesystem::path node_dir(const std::string& case_name, int round,
                                               const std::string& host, int node) const;

 private:
  RunDir(std::filesystem::path path, plan::Plan plan);
  std::filesystem::path path_;
  plan::Plan plan_;
};

/// Held by the process that runs or resumes a run; the kernel releases it however that process
/// ends.
class RunLock {
 public:
  /// Throws Error of kind environment when another process holds it.
  explicit RunLock(const std::filesystem::path& run_dir);
  /// Whether a process is working on the run now.
  [[nodiscard]] static bool held(const std::filesystem::path& run_dir);

 private:
  UniqueFd fd_;
};

/// <case>/round<N>/<host>_noderank<i>: the folder of a node's evidence in a run directory.
[[nodiscard]] std::filesystem::path node_folder(const std::string& case_name, int round,
                                                const std::string& host, int node);

/// The existing rank<r>.out.log and its rotated parts in `node_dir`, oldest first.
[[nodiscard]] std::vector<std::filesystem::path> rank_logs(const std::filesystem::path& node_dir,
                                                           int rank);

}  // namespace assay::store
