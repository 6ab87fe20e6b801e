#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/time.h"

namespace assay::emulator {

/// The emulator's settings, from one JSON file. All keys except the account's have defaults.
struct Settings {
  std::filesystem::path root;  ///< for objects
  std::string user, password, domain;
  std::string access_key, secret_key;
  std::string project_id = "0123456789abcdef0123456789abcdef";
  std::string project_name = "emulated-1";
  std::string obs_domain = "localhost";  ///< "BUCKET.localhost" means BUCKET
  Nanoseconds token_lifetime = std::chrono::hours(24);
  Nanoseconds clock_offset{};  ///< of the emulated service, relative to this machine
  Nanoseconds job_pending = std::chrono::milliseconds(200);
  Nanoseconds job_running = std::chrono::seconds(1);
  bool run_jobs = false;                           ///< as processes; otherwise they are only timed
  std::string python = "python3";                  ///< for boot files that end with .py
  Nanoseconds job_time = std::chrono::hours(1);    ///< the longest run of a job
  Nanoseconds job_cpu = std::chrono::minutes(30);  ///< CPU time of a single process
  Nanoseconds job_upload = std::chrono::seconds(1);  ///< between uploads of logs and outputs
  int job_processes = 64;                            ///< for all jobs together
  std::vector<std::string> buckets;                  ///< those that exist initially
  Json flavors = Json::array();                      ///< as in v2's training-job-flavors
  Json engines = Json::array();                      ///< as in v2's training-job-engines
};

/// Throws Error of kind config at `where`.
[[nodiscard]] Settings settings_from_json(const Json& json, const std::string& where);

}  // namespace assay::emulator
