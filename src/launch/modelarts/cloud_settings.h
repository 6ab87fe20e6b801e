#pragma once

#include <filesystem>
#include <string>

#include "cloud/credentials.h"
#include "cloud/modelarts.h"
#include "cloud/obs.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::launch {

/// Cluster::options of the launcher `modelarts`, typed (plan/modelarts.h has checked them).
struct CloudSettings {
  std::string endpoint, obs_endpoint, project, bucket;
  std::string prefix;  ///< of all keys, ends with "/"
  std::filesystem::path code;
  bool v1 = false;  ///< the old interface: rounds are versions of one job
  std::string engine;
  std::string job_name;
  bool stop_on_interrupt = false;
  bool single_server = false;
  bool ais_results = true;
  std::filesystem::path credentials;  ///< empty: the environment
  Nanoseconds wait{};                 ///< that a job may stay pending
  Nanoseconds poll{};                 ///< the first pause between two questions; grows

  /// Keys below the bucket: code of all runs, and what a round's job writes.
  [[nodiscard]] std::string code_prefix() const { return prefix + job_name + "/code/"; }
  [[nodiscard]] std::string round_prefix(const std::string& run_id, const std::string& job) const {
    return prefix + run_id + "/" + job + "/";
  }
};

[[nodiscard]] CloudSettings cloud_settings(const plan::Cluster& cluster);

/// From the file (JSON: access_key, secret_key, security_token), which nobody else may read, or
/// from HUAWEICLOUD_SDK_AK, HUAWEICLOUD_SDK_SK and HUAWEICLOUD_SDK_SECURITY_TOKEN. Throws Error of
/// kind environment that says what is missing, never a secret.
[[nodiscard]] cloud::Credentials read_credentials(const CloudSettings& settings);

/// The name of a round's job, unique: "assay-20261115T101500Z-3f2a-c0-r1", "…-a1" when it is tried
/// again.
[[nodiscard]] std::string job_name(const CloudSettings& settings, const plan::Plan& plan,
                                   const plan::CasePlan& plan_case, int round, int attempt);

/// What is asked of the service for a round. Pure.
[[nodiscard]] cloud::TrainingJobSpec job_spec(const plan::Plan& plan,
                                              const plan::CasePlan& plan_case,
                                              const std::string& name);

/// For people, without asking the service: what is uploaded, and the body of every job.
[[nodiscard]] Json describe_cloud_execution(const plan::Plan& plan);

}  // namespace assay::launch
