#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace assay::site {

// The databases of the job platform. SQLite makes a missing or empty one anew, and a server would
// go on without its jobs and accounts as if there had never been any.

inline constexpr const char* kJobsDatabase = "jobs.db";
inline constexpr const char* kAccountsDatabase = "accounts.db";
inline constexpr std::array kDatabases{kAccountsDatabase, kJobsDatabase};

/// Throws Error of kind environment where a database is missing, empty or no regular file although
/// other files of the folder say that there was one. `used`: a server with jobs has been started on
/// the folder.
void require_databases(const std::filesystem::path& data, bool used);

/// What is wrong, one sentence each: missing and damaged databases, jobs without a folder and
/// folders without a job. Reads only; beside a running server, too.
[[nodiscard]] std::vector<std::string> platform_faults(const std::filesystem::path& data);

}  // namespace assay::site
