#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/run_layout.h"
#include "plan/plan.h"
#include "store/journal.h"

namespace assay::store {

/// Points `results`/latest at the newest run when the one that it led to is gone; removes it when
/// there is no other.
void mend_latest(const std::filesystem::path& results);

/// The files of one run. Evidence is written once; derived files can be deleted and recomputed.
class RunDir {
 public:
  /// Makes `parent`/`plan.run_id`, writes plan.json and points `parent`/latest at it.
  static RunDir create(const std::filesystem::path& parent, const plan::Plan& plan);
  /// An existing run; accepts its folder, or a file inside it. Throws Error of kind usage when it
  /// is not one.
  static RunDir open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] const plan::Plan& plan() const noexcept { return plan_; }
  [[nodiscard]] std::filesystem::path journal_file() const { return path_ / layout::kJournal; }
  [[nodiscard]] std::filesystem::path system_file() const { return path_ / layout::kSystem; }
  [[nodiscard]] std::filesystem::path live_file() const { return path_ / layout::kLive; }
  /// The folder of layout::kLiveLogs.
  [[nodiscard]] std::filesystem::path live_logs() const { return path_ / layout::kLiveLogs; }
  /// The batch job of a detached run.
  [[nodiscard]] std::filesystem::path job_file() const { return path_ / layout::kJob; }

  /// <case>/round<N>; the case name is used as it is (FlagPerf's layout), checked when planning.
  [[nodiscard]] std::filesystem::path round_dir(const std::string& case_name, int round) const;
  /// <case>/round<N>/<host>_noderank<i>
  [[nodiscard]] std::filesystem::path node_dir(const std::string& case_name, int round,
                                               const std::string& host, int node) const;

 private:
  RunDir(std::filesystem::path path, plan::Plan plan);
  std::filesystem::path path_;
  plan::Plan plan_;
};

/// Held by the process that runs or resumes a run; released by the kernel however it ends.
class RunLock {
 public:
  /// Throws Error of kind environment when another process holds it.
  explicit RunLock(const std::filesystem::path& run_dir);
  /// Whether some process works on the run now.
  [[nodiscard]] static bool held(const std::filesystem::path& run_dir);

 private:
  UniqueFd fd_;
};

/// <case>/round<N>/<host>_noderank<i>: where a node's evidence lies below a run directory.
[[nodiscard]] std::filesystem::path node_folder(const std::string& case_name, int round,
                                                const std::string& host, int node);

/// rank<r>.out.log and its rotated parts, oldest first, that exist in `node_dir`.
[[nodiscard]] std::vector<std::filesystem::path> rank_logs(const std::filesystem::path& node_dir,
                                                           int rank);

}  // namespace assay::store
