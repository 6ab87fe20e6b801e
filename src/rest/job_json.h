#pragma once

#include "rest/call.h"

namespace assay::rest {

/// What a job or schedule of `owner` was submitted with, as the caller sees it: secrets are for who
/// gave them.
[[nodiscard]] jobs::Submission shown_to(const Call& call, const std::string& owner,
                                        const jobs::Submission& submission);
/// A line of a list; what it waits for is shown to those who may read it.
[[nodiscard]] Json row_json(Call& call, const jobs::JobRow& row);
/// The same of a job, found by its number.
[[nodiscard]] Json row_json(Call& call, const platform::JobView& view);
/// Everything about a job, as GET /jobs/{id} gives it.
[[nodiscard]] Json job_json(Call& call, const platform::JobView& view);
/// What PATCH changes of it, for etag_of().
[[nodiscard]] Json changeable_job(Call& call, const jobs::Job& job);
[[nodiscard]] Json pending_json(const std::optional<jobs::Pending>& pending);

}  // namespace assay::rest
