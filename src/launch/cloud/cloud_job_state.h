#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace assay::launch {

/// What has to be known to follow a round's job again after this process died; kept in the round's
/// folder as job.json.
struct JobState {
  std::string name;
  std::string id;                  ///< empty: it may have been created, look for its name
  bool over = false;               ///< it was given up: a new attempt is a new job
  bool running = false;            ///< its ranks were journaled as started
  std::string code;                ///< hash of the code that it was made with; empty: not yet
  std::int64_t sync_start_ns = 0;  ///< wall clock
  std::int64_t created_ns = 0;
  std::string logs{};  ///< how the service's names of its logs begin; "0.log" goes after it
  std::map<int, std::uint64_t> mirrored;  ///< bytes of every instance's log that are here
  /// Bytes in front of them: of logs that ended when the service began the instance's log again.
  std::map<int, std::uint64_t> earlier{};
};

/// Nothing when there is none, or it cannot be read.
[[nodiscard]] std::optional<JobState> load_job_state(const std::filesystem::path& round_dir);
void save_job_state(const std::filesystem::path& round_dir, const JobState& state);

}  // namespace assay::launch
