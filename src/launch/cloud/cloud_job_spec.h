#pragma once

#include <map>
#include <string>

#include "cloud/modelarts.h"
#include "plan/plan.h"

namespace assay::launch {

/// The name of a round's job, unique: "assay-20261115T101500Z-3f2a-c0-r1", "…-a1" when it is tried
/// again.
[[nodiscard]] std::string job_name(const plan::ModelArtsOptions& options, const plan::Plan& plan,
                                   const plan::CasePlan& plan_case, int round, int attempt);

/// What is asked of the service for a round of a plan whose launcher is a cloud. `code_hash` is
/// cloud::hash_of the code's files. Pure.
[[nodiscard]] cloud::TrainingJobSpec job_spec(const plan::Plan& plan,
                                              const plan::CasePlan& plan_case,
                                              const std::string& name,
                                              const std::string& code_hash);

/// What jobs of the interface v1 have to be told in ma-pre-start.sh; empty with v2.
[[nodiscard]] std::map<std::string, std::string> pre_start_environment(
    const plan::ModelArtsOptions& options, const plan::CasePlan& plan_case);

/// For people, without asking the service: what is uploaded, and the body of every job.
[[nodiscard]] Json describe_cloud_execution(const plan::Plan& plan);

}  // namespace assay::launch
