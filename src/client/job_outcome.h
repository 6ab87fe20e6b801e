#pragma once

#include "client/answers.h"

namespace assay::client {

/// The exit code of somebody who waited for a job: 0 finished and VALID, 4 the cluster could not
/// run it, 5 it failed, was stopped, or its evidence is not complete, 6 finished but INVALID. What
/// cannot be told is 5, never 0.
[[nodiscard]] int outcome_of(const JobRow& job) noexcept;

}  // namespace assay::client
