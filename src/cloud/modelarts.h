#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "cloud/credentials.h"
#include "cloud/iam.h"
#include "cloud/job_phase.h"
#include "core/json.h"
#include "http/client.h"

namespace assay::cloud {

/// A connection to one ModelArts project, shared by both versions of the training interface.
/// Thread-safe.
class ModelArtsService {
 public:
  /// Requests are signed with an access key or carry a token; the arguments must outlive this.
  ModelArtsService(http::Client& client, CredentialSource& credentials, const std::string& endpoint,
                   std::string project_id);
  ModelArtsService(http::Client& client, IamTokens& tokens, const std::string& endpoint,
                   std::string project_id);

  /// Returns the answer's JSON; null for 204 (not ready) and an empty body. Throws ServiceError,
  /// and Error for an answer that is not JSON. `path` follows /v1/PROJECT or /v2/PROJECT.
  [[nodiscard]] Json call(const std::string& method, const std::string& version,
                          const std::string& path, const http::Query& query, const Json& body,
                          std::optional<bool> repeatable, const std::stop_token& stop);
  [[nodiscard]] http::Client& client() noexcept { return client_; }
  [[nodiscard]] const std::string& host() const noexcept { return host_; }

 private:
  http::Client& client_;
  std::function<std::unique_ptr<http::Authorizer>()> authorizer_;
  std::string origin_;
  std::string host_;
  std::string project_id_;
};

/// The phase for v2's "phase"; `unknown`, which is not final, for unknown values.
[[nodiscard]] JobPhase phase_from_v2(std::string_view text) noexcept;
/// The phase for v1's status number, 0 … 22.
[[nodiscard]] JobPhase phase_from_v1(int status) noexcept;
/// The name of v1's status number, such as "JOBSTAT_RUNNING".
[[nodiscard]] std::string v1_status_name(int status);

struct DataLink {
  std::string name;     ///< "data_url", "train_url"
  std::string obs_url;  ///< "/bucket/folder/"
};

struct NasVolume {
  std::string server_path;
  std::string local_path;
  bool read_only = false;
};

/// The job to create. The service chooses empty fields.
struct TrainingJobSpec {
  std::string name;  ///< 1 … 64 characters of A-Z a-z 0-9 _ -
  std::string description;
  std::string code_dir;   ///< "/bucket/code/"
  std::string boot_file;  ///< "/bucket/code/train.py", within code_dir
  std::string engine_id;  ///< or engine_name and engine_version, or image_url
  std::string engine_name;
  std::string engine_version;
  std::string image_url;
  std::string command;  ///< with image_url
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<DataLink> inputs;
  std::vector<DataLink> outputs;
  std::map<std::string, std::string> environment;
  std::string flavor_id;
  std::string pool_id;
  int node_count = 1;
  std::vector<NasVolume> volumes;
  std::string log_url;      ///< "/bucket/log/"
  int auto_stop_hours = 0;  ///< 0 = never
  std::string workspace_id;
};

/// Throws Error of kind config for anything that the service would refuse: names, paths, counts.
void check(const TrainingJobSpec& spec);
/// The request body that creates the job in v2.
[[nodiscard]] Json to_json(const TrainingJobSpec& spec);

struct TrainingJob {
  std::string id;
  std::string name;
  JobPhase phase = JobPhase::unknown;
  std::string phase_text;  ///< the service's name for it
  std::int64_t created_ms = 0;
  std::int64_t started_ms = 0;  ///< 0 = not yet
  std::int64_t duration_ms = 0;
  std::vector<std::string> tasks;  ///< "worker-0", …
  int node_count = 0;
  std::string message;  ///< the tasks' final messages
  Json raw;
};
/// Tolerant: missing or mistyped fields stay empty.
[[nodiscard]] TrainingJob training_job_from_json(const Json& json);

struct Flavor {
  std::string id;
  std::string name;
  std::string type;     ///< "CPU", "GPU", "NPU"
  int devices = 0;      ///< accelerators per node; 0 = none
  std::string product;  ///< their product name
  int max_nodes = 0;
  std::string billing{};  ///< the billing code; empty: not reported
  int billing_units = 0;  ///< of that code, per instance and hour
};

struct Engine {
  std::string id;
  std::string name;
  std::string version;
};

struct LogPreview {
  std::string content;          ///< the end of the log, at most 5 MB
  std::uint64_t full_size = 0;  ///< of the complete log
};

struct TaskMetric {
  std::string name;            ///< "npuUtil"
  std::vector<double> values;  ///< one per minute; NaN where missing
};

struct JobEvent {
  std::int64_t time_ms = 0;
  std::string level;
  std::string message;
  std::string source;
};

/// The training interface v2. All methods throw Error as ModelArtsService::call does.
class TrainingJobs {
 public:
  explicit TrainingJobs(ModelArtsService& service) : service_(service) {}

  /// Creates and starts a job. If the answer is lost, the job is looked up by its name and a mark
  /// in its environment (ASSAY_REQUEST_ID), so that a created job is not overlooked, and another
  /// user's job with that name is not mistaken for it.
  [[nodiscard]] TrainingJob create(const TrainingJobSpec& spec, const std::stop_token& stop = {});
  [[nodiscard]] TrainingJob get(const std::string& id, const std::stop_token& stop = {});
  /// The job with exactly this name, or nothing. (The service itself matches parts of names.)
  [[nodiscard]] std::optional<TrainingJob> find(const std::string& name,
                                                const std::stop_token& stop = {});
  /// Jobs, newest first, at most `max`.
  [[nodiscard]] std::vector<TrainingJob> list(const std::string& name_part, std::size_t max = 1000,
                                              const std::stop_token& stop = {});
  /// Asks a job to end; returns a job that has already ended unchanged.
  TrainingJob stop(const std::string& id, const std::stop_token& stop = {});
  void remove(const std::string& id, const std::stop_token& stop = {});
  /// The log so far; nothing if the service has none yet.
  [[nodiscard]] std::optional<LogPreview> log(const std::string& id, const std::string& task,
                                              const std::stop_token& stop = {});
  /// A link to the complete log, valid for minutes. It is a secret.
  [[nodiscard]] std::optional<std::string> log_link(const std::string& id, const std::string& task,
                                                    const std::stop_token& stop = {});
  [[nodiscard]] std::vector<TaskMetric> metrics(const std::string& id, const std::string& task,
                                                const std::stop_token& stop = {});
  [[nodiscard]] std::vector<JobEvent> events(const std::string& id,
                                             const std::stop_token& stop = {});
  [[nodiscard]] std::vector<Flavor> flavors(const std::stop_token& stop = {});
  [[nodiscard]] std::vector<Engine> engines(const std::stop_token& stop = {});

 private:
  ModelArtsService& service_;
};

}  // namespace assay::cloud
