#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cloud/modelarts.h"
#include "plan/launchers/modelarts_options.h"

namespace assay::launch {

/// Jobs of ModelArts, with either of its interfaces. Thread-safe. All throw Error:
/// cloud::ServiceError when the service refuses, kind environment when it does not answer.
class ModelArtsJobs {
 public:
  virtual ~ModelArtsJobs() = default;
  /// The job that was created from this very specification, if there is one.
  [[nodiscard]] virtual std::optional<cloud::TrainingJob> find(const cloud::TrainingJobSpec& spec,
                                                               const std::stop_token& stop) = 0;
  [[nodiscard]] virtual cloud::TrainingJob create(const cloud::TrainingJobSpec& spec,
                                                  const std::stop_token& stop) = 0;
  [[nodiscard]] virtual cloud::TrainingJob get(const std::string& id,
                                               const std::stop_token& stop) = 0;
  virtual void stop(const std::string& id, const std::stop_token& stop) = 0;
  /// How the names of the job's logs begin; "<instance>.log" goes after it. Empty: not known yet.
  [[nodiscard]] virtual std::string log_name(const cloud::TrainingJob& job) const = 0;
  [[nodiscard]] virtual std::vector<cloud::Flavor> flavors(const std::stop_token& stop) = 0;
  /// By the names that a suite gives them.
  [[nodiscard]] virtual std::vector<std::string> engines(const std::stop_token& stop) = 0;
  /// Metrics of an instance ("worker-0"), one value a minute; empty where the service has none.
  [[nodiscard]] virtual std::vector<cloud::TaskMetric> metrics(const std::string& id,
                                                               const std::string& task,
                                                               const std::stop_token& stop) = 0;
  /// The newest job that a suite with this `job_name` has made, whoever ran it.
  [[nodiscard]] virtual std::optional<cloud::TrainingJob> newest(const std::string& job_name,
                                                                 const std::stop_token& stop) = 0;
};

/// v2: every round is a job of its own name. v1: every round is the next version of the job
/// `job_name`, told apart by where its results go. `client` and `credentials` must outlive it.
[[nodiscard]] std::unique_ptr<ModelArtsJobs> make_modelarts_jobs(
    const plan::ModelArtsOptions& options, http::Client& client,
    cloud::CredentialSource& credentials);

}  // namespace assay::launch
