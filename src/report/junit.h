#pragma once

#include <string>

#include "judge/result.h"

namespace assay::report {

/// junit.xml: a test suite for the run, a test case for every round of every case. INVALID is a
/// failure, INCOMPLETE an error, and a round that did not run and has no finding is skipped.
[[nodiscard]] std::string render_junit(const judge::RunResult& result);

}  // namespace assay::report
