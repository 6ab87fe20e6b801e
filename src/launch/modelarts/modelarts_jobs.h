#pragma once

#include <functional>
#include <memory>

#include "cloud/modelarts.h"
#include "launch/cloud/cloud_service.h"
#include "plan/plan.h"

namespace assay::launch {

/// ModelArts as a service that runs jobs, with either of its interfaces.
class ModelArtsJobs : public CloudService {
 public:
  /// The newest job that a suite with this `job_name` has made, whoever ran it.
  [[nodiscard]] virtual std::optional<cloud::TrainingJob> newest(const std::string& job_name,
                                                                 const std::stop_token& stop) = 0;
};

/// v2: every round is a job of its own name. v1: every round is the next version of the job
/// `job_name`, told apart by where its results go. `client` and `credentials` must outlive it.
[[nodiscard]] std::unique_ptr<ModelArtsJobs> make_modelarts_jobs(
    const plan::ModelArtsOptions& options, http::Client& client,
    cloud::CredentialSource& credentials);

/// Asks the cloud, as a run does first, whether it has what the plan needs: bucket, engine, flavor.
/// Gives what it found. Throws Error.
[[nodiscard]] Json check_service(const plan::Plan& plan, const plan::ModelArtsOptions& options,
                                 const std::function<void(const std::string&)>& waiting);

}  // namespace assay::launch
