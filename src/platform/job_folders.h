#pragma once

#include <filesystem>
#include <vector>

#include "core/files.h"
#include "jobs/job_request.h"

namespace assay::platform {

/// The folders of jobs in a server's data folder: DATA/jobs/NUMBER, with one of each attempt. A
/// folder is renamed before the record of its job is removed, and removed after it, so that no
/// other job ever gets it.
class JobFolders {
 public:
  explicit JobFolders(const std::filesystem::path& data);

  [[nodiscard]] std::filesystem::path of(jobs::JobId id) const;
  [[nodiscard]] std::filesystem::path of(jobs::JobId id, int attempt) const;
  /// The name of a job's folder while its record is removed.
  [[nodiscard]] std::filesystem::path removed(jobs::JobId id) const;
  /// The jobs of folders that have such a name.
  [[nodiscard]] std::vector<jobs::JobId> all_removed() const;
  /// The highest number of a folder; 0: there is none.
  [[nodiscard]] jobs::JobId last() const;

 private:
  std::filesystem::path folder_;  // absolute
};

/// Makes a server's data folder and locks it. Throws Error of kind environment while another server
/// works with it.
[[nodiscard]] UniqueFd lock_data_folder(const std::filesystem::path& data);

}  // namespace assay::platform
