#pragma once

#include <map>
#include <string>

#include "cloud/modelarts.h"
#include "launch/cloud/round_job.h"
#include "plan/launchers/modelarts_options.h"

namespace assay::launch {

/// What is asked of ModelArts for a round. Pure.
[[nodiscard]] cloud::TrainingJobSpec training_job_spec(const plan::ModelArtsOptions& options,
                                                       const RoundJob& job);

/// What jobs of the interface v1 have to be told in ma-pre-start.sh; empty with v2.
[[nodiscard]] std::map<std::string, std::string> pre_start_environment(
    const plan::ModelArtsOptions& options, const plan::CasePlan& plan_case);

/// For people, without asking the service: what is uploaded, and the body of every job.
[[nodiscard]] Json describe_training_jobs(const plan::ModelArtsOptions& options,
                                          const plan::Plan& plan);

}  // namespace assay::launch
