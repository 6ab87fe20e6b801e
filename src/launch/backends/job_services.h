#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/json.h"
#include "launch/backend.h"

namespace assay::launch {

/// What the launchers do that submit jobs to a service (plan::LauncherOptions); the rest of the
/// launchers start agents. Only assay-full has these, because they need clients of clouds.
struct JobServices {
  std::unique_ptr<Backend> (*make_backend)(const BackendContext& context);
  Json (*describe_jobs)(const plan::Plan& plan);
  Json (*check_jobs)(const plan::Plan& plan,
                     const std::function<void(const std::string&)>& waiting);
};

/// make_backend() and its neighbours use these from now on. `given` outlives their use.
void use_services(const JobServices& given);
/// The same with the services of launch/modelarts and launch/http.
void use_job_services();

}  // namespace assay::launch
