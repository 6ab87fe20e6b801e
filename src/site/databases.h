#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace assay::site {

// The databases of the job platform. SQLite creates a missing or empty one, so that a server would
// silently continue without its jobs and accounts.

inline constexpr const char* kJobsDatabase = "jobs.db";
inline constexpr const char* kAccountsDatabase = "accounts.db";
inline constexpr std::array kDatabases{kAccountsDatabase, kJobsDatabase};

/// Throws Error of kind environment if a database is missing, empty or not a regular file although
/// other files of the folder prove that it existed. `used`: a server with jobs has been started on
/// the folder.
void require_databases(const std::filesystem::path& data, bool used);

/// The problems, one sentence each: missing and damaged databases, jobs without a folder, and
/// folders without a job. Only reads, so that the server may be running.
[[nodiscard]] std::vector<std::string> platform_faults(const std::filesystem::path& data);

}  // namespace assay::site
