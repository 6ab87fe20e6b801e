#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/time.h"

namespace assay::emulator {

/// The emulator's settings, read from one JSON file. All keys but the account's have defaults.
struct Settings {
  std::filesystem::path root;  ///< where objects are kept
  std::string user, password, domain;
  std::string access_key, secret_key;
  std::string project_id = "0123456789abcdef0123456789abcdef";
  std::string project_name = "emulated-1";
  std::string obs_domain = "localhost";  ///< "BUCKET.localhost" is BUCKET
  Nanoseconds token_lifetime = std::chrono::hours(24);
  Nanoseconds clock_offset{};  ///< of the emulated service, against this machine
  Nanoseconds job_pending = std::chrono::milliseconds(200);
  Nanoseconds job_running = std::chrono::seconds(1);
  bool run_jobs = false;                           ///< as processes; otherwise they are only timed
  std::string python = "python3";                  ///< runs boot files that end with .py
  Nanoseconds job_time = std::chrono::hours(1);    ///< the longest time that a job may run
  Nanoseconds job_cpu = std::chrono::minutes(30);  ///< CPU time of one of its processes
  Nanoseconds job_upload = std::chrono::seconds(1);  ///< between uploads of logs and outputs
  int job_processes = 64;                            ///< of all jobs at once
  std::vector<std::string> buckets;                  ///< that exist from the start
  Json flavors = Json::array();                      ///< as v2's training-job-flavors lists them
  Json engines = Json::array();                      ///< as v2's training-job-engines lists them
};

/// Throws Error of kind config at `where`.
[[nodiscard]] Settings settings_from_json(const Json& json, const std::string& where);

}  // namespace assay::emulator
