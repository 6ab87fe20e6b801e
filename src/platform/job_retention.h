#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_request.h"
#include "jobs/job_store.h"

namespace assay::platform {

/// How many days after its end what a job leaves behind is kept; 0: for ever.
struct RetentionPolicy {
  std::int64_t logs_days = 0;  ///< logs, telemetry and its working folder; results and reports stay
  std::int64_t jobs_days = 0;  ///< everything, and the job's record

  static void fields(auto& self, auto&& field) {
    field.optional("logs_days", self.logs_days);
    field.optional("jobs_days", self.jobs_days);
  }
};

/// Until when; nothing: for ever.
struct KeptUntil {
  std::optional<jobs::WallTime> logs_ns{};
  std::optional<jobs::WallTime> job_ns{};
};
/// Of a job that ended then.
[[nodiscard]] KeptUntil kept_until(const RetentionPolicy& policy, jobs::WallTime ended_ns);

/// What was removed, or would be.
struct Removal {
  std::size_t logs = 0;     ///< jobs whose logs go
  std::size_t jobs = 0;     ///< jobs that go
  std::size_t failed = 0;   ///< jobs of which something could not be removed
  std::string first_why{};  ///< of the first of them
};

/// What a policy would remove, before it is one.
struct RemovalAhead {
  std::size_t jobs = 0;
  std::size_t logs = 0;
  bool whole = true;  ///< else there was no time to look at all: there may be more
  /// The first of them, those that ended first.
  std::vector<jobs::JobRow> first_jobs{};
  std::vector<jobs::JobRow> first_logs{};
};

/// What has become of the logs of a job.
struct LogsRemoval {
  std::string at{};       ///< "2026-11-15T10:15:00.000Z"; empty: they are there
  bool finished = false;  ///< else some files may be left: it was begun, and goes on
};
/// Of a job whose attempts lie in `folder`.
[[nodiscard]] LogsRemoval logs_removal(const std::filesystem::path& folder);

/// Removes of every attempt in `folder` what logs_days says, and says so there before the first
/// file goes. Can be done again after it failed in the middle. Throws Error of kind environment.
void remove_logs(const std::filesystem::path& folder, jobs::WallTime now_ns);

}  // namespace assay::platform
