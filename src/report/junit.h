#pragma once

#include <string>

#include "judge/result.h"

namespace assay::report {

/// junit.xml: a test suite for the run, a test case for every round of every case. INVALID is a
/// failure, INCOMPLETE an error, a round that was not run and says nothing more is skipped.
[[nodiscard]] std::string render_junit(const judge::RunResult& result);

}  // namespace assay::report
