#pragma once

#include <string>
#include <vector>

#include "jobs/submission.h"

namespace assay::rest {

/// Variables and settings of a submission, also of its suite, whose names or values look like
/// secrets (core/secrets.h): "env.HF_TOKEN".
[[nodiscard]] std::vector<std::string> secrets_of(const jobs::Submission& submission);

/// The submission as everybody but its owner sees it: with "(hidden)" in place of the values of
/// secrets_of(). A suite from which they cannot be taken is hidden as a whole.
[[nodiscard]] jobs::Submission without_secrets(jobs::Submission submission);

/// Values that without_secrets() hid, and that nobody has replaced since.
[[nodiscard]] std::vector<jobs::Problem> hidden_values(const jobs::Submission& submission);

}  // namespace assay::rest
