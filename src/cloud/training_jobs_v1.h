#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "cloud/modelarts.h"

namespace assay::cloud {

/// The version of a job to create in v1. Flavor and engine are given by their display names.
struct OldJobSpec {
  std::string name;
  std::string description;
  std::string code_dir;   ///< "/bucket/code/"
  std::string boot_file;  ///< "/bucket/code/train.py"
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string data_url;
  std::string train_url;  ///< for results
  std::string log_url;
  std::string spec_code;  ///< "modelarts.kat1.8xlarge"; or pool_id
  std::string pool_id;
  std::string engine_name;
  std::string engine_version;
  int node_count = 1;
  std::vector<NasVolume> volumes;
};

struct OldJob {
  std::int64_t job_id = 0;
  std::string job_name;
  std::int64_t version_id = 0;
  std::string version_name;  ///< "V0001"
  std::string resource_id;   ///< "jobafd08896", the prefix of its logs' names
  int status = 0;
  JobPhase phase = JobPhase::unknown;
  std::int64_t created_ms = 0;
  std::int64_t duration_ms = 0;
  Json raw;
};
[[nodiscard]] OldJob old_job_from_json(const Json& json);

struct OldFlavor {
  std::int64_t spec_id = 0;
  std::string spec_code;
  int devices = 0;
  int max_nodes = 0;
};

struct OldEngine {
  std::int64_t engine_id = 0;
  std::string name;
  std::string version;
};

struct OldLogPage {
  std::string content;
  std::int64_t end_line = 0;  ///< where the next page begins
};

/// The training interface v1, in which jobs have versions. Thread-safe; throws Error.
class OldTrainingJobs {
 public:
  explicit OldTrainingJobs(ModelArtsService& service) : service_(service) {}

  /// Creates the first version of a new job, or the next one of the job with exactly that name. If
  /// the answer is lost, the job is looked up.
  [[nodiscard]] OldJob create(const OldJobSpec& spec, const std::stop_token& stop = {});
  /// The job with exactly this name and its newest version, or nothing.
  [[nodiscard]] std::optional<OldJob> find(const std::string& name,
                                           const std::stop_token& stop = {});
  [[nodiscard]] OldJob get(std::int64_t job, std::int64_t version,
                           const std::stop_token& stop = {});
  /// Newest first.
  [[nodiscard]] std::vector<OldJob> versions(std::int64_t job, const std::stop_token& stop = {});
  void stop(std::int64_t job, std::int64_t version, const std::stop_token& stop = {});
  void remove(std::int64_t job, const std::stop_token& stop = {});
  [[nodiscard]] std::vector<std::string> log_files(std::int64_t job, std::int64_t version,
                                                   const std::stop_token& stop = {});
  /// A page of at most 500 lines, starting at `line`.
  [[nodiscard]] OldLogPage log(std::int64_t job, std::int64_t version, const std::string& file,
                               std::int64_t line, const std::stop_token& stop = {});
  [[nodiscard]] std::vector<OldFlavor> flavors(const std::stop_token& stop = {});
  [[nodiscard]] std::vector<OldEngine> engines(const std::stop_token& stop = {});

 private:
  [[nodiscard]] Json config_of(const OldJobSpec& spec, const std::stop_token& stop);

  ModelArtsService& service_;
};

}  // namespace assay::cloud
