#pragma once

#include <optional>

#include "launch/cloud/cloud_service.h"
#include "plan/launchers/http_options.h"

namespace assay::launch {

/// The body that asks a service of docs/http-jobs.md for a round's job. Pure.
[[nodiscard]] Json http_job_request(const plan::HttpOptions& options, const RoundJob& job);

/// A job as such a service describes it; nothing when it is not such a description. A state that is
/// not known has not ended, and times that contradict each other count as not told. Pure.
[[nodiscard]] std::optional<ServiceJob> http_job_from_json(const Json& json);

}  // namespace assay::launch
