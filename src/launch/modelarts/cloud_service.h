#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cloud/modelarts.h"

namespace assay::launch {

/// What a round needs of ModelArts, with either of its interfaces. All throw Error as
/// cloud::TrainingJobs does.
class CloudService {
 public:
  virtual ~CloudService() = default;
  /// The job that was created from this very specification, if there is one.
  [[nodiscard]] virtual std::optional<cloud::TrainingJob> find(const cloud::TrainingJobSpec& spec,
                                                               const std::stop_token& stop) = 0;
  [[nodiscard]] virtual cloud::TrainingJob create(const cloud::TrainingJobSpec& spec,
                                                  const std::stop_token& stop) = 0;
  [[nodiscard]] virtual cloud::TrainingJob get(const std::string& id,
                                               const std::stop_token& stop) = 0;
  virtual void stop(const std::string& id, const std::stop_token& stop) = 0;
  /// How the names of the job's logs begin; "<instance>.log" goes after it.
  [[nodiscard]] virtual std::string log_name(const cloud::TrainingJob& job) const = 0;
  [[nodiscard]] virtual std::vector<cloud::Flavor> flavors() = 0;
  /// Metrics of an instance ("worker-0"), one value a minute; the old interface has none.
  [[nodiscard]] virtual std::vector<cloud::TaskMetric> metrics(const std::string& id,
                                                               const std::string& task,
                                                               const std::stop_token& stop) = 0;
};

/// v2: every round is a job of its own name.
[[nodiscard]] std::unique_ptr<CloudService> make_service_v2(cloud::ModelArtsService& connection);

/// v1: every round is the next version of the job `job_name`; `engine` is "NAME/VERSION". Its
/// versions are distinguished by where their results go.
[[nodiscard]] std::unique_ptr<CloudService> make_service_v1(cloud::ModelArtsService& connection,
                                                            std::string job_name,
                                                            const std::string& engine);

}  // namespace assay::launch
