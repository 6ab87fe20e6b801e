#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/cloud_accounts.h"
#include "emulator/job_faults.h"
#include "emulator/job_runner.h"
#include "emulator/obs_store.h"

namespace assay::emulator {

/// ModelArts training v1 and v2. Thread-safe.
class ModelArtsService {
 public:
  ModelArtsService(const Settings& settings, Accounts& accounts, ObsStore& store,
                   JobFaults& faults);
  ~ModelArtsService();

  /// Checks the caller's identity and answers.
  [[nodiscard]] ServerResponse handle(const ServerRequest& request);

 private:
  struct Job {
    std::string id;
    std::string name;
    std::int64_t created_ms = 0;
    int nodes = 1;
    Json body;  // from its creation
  };
  struct OldVersion {
    int id = 0;
    std::string name;  // "V0001"
    std::string run_id;
    std::int64_t created_ms = 0;
    Json config;
  };
  struct OldJob {
    int id = 0;
    std::string name;
    std::string description;
    std::string resource_id;
    std::vector<OldVersion> versions;
  };
  using Path = std::vector<std::string_view>;

  // v2: modelarts_v2.cpp
  ServerResponse handle_v2(const ServerRequest& request, const Path& path);
  ServerResponse create(const ServerRequest& request);
  ServerResponse search(const ServerRequest& request);
  ServerResponse job_operation(const ServerRequest& request, const Job& job, const Path& path);
  ServerResponse terminate(const ServerRequest& request, const Job& job);
  ServerResponse task_operation(const ServerRequest& request, const Job& job, const Path& path);
  ServerResponse events(const ServerRequest& request, const Job& job);
  [[nodiscard]] std::optional<ServerResponse> refuse_creation(const Json& body);
  [[nodiscard]] JobToRun to_run(const Job& job) const;
  [[nodiscard]] Json describe(const Job& job);

  // v1: modelarts_v1.cpp
  ServerResponse handle_v1(const ServerRequest& request, const Path& path);
  ServerResponse create_old(const ServerRequest& request);
  ServerResponse list_old(const ServerRequest& request);
  ServerResponse list_versions(const ServerRequest& request, const OldJob& job);
  ServerResponse add_version(const ServerRequest& request, OldJob& job);
  ServerResponse version_operation(const ServerRequest& request, OldJob& job, const Path& path);
  [[nodiscard]] std::optional<ServerResponse> refuse_config(const Json& config);
  OldVersion start_version(OldJob& job, const Json& config);
  [[nodiscard]] JobToRun to_run(const OldJob& job, const OldVersion& version) const;
  [[nodiscard]] Json describe(const OldJob& job, const OldVersion& version);

  const Settings& settings_;
  Accounts& accounts_;
  ObsStore& store_;
  std::unique_ptr<JobRunner> runner_;
  std::mutex mutex_;
  std::vector<Job> jobs_;
  std::vector<OldJob> old_jobs_;
  int next_old_id_ = 3042;
  int next_version_id_ = 13230;
};

/// Splits "/bucket/a/b" or "obs://bucket/a/b" into bucket and key; empty for anything else.
[[nodiscard]] std::pair<std::string, std::string> split_obs_path(std::string_view path);

/// A flavor's accelerators per node, as listed in Settings.
[[nodiscard]] int cards_of(const Json& flavor);

}  // namespace assay::emulator
