#pragma once

#include <vector>

#include "compare/comparison.h"

namespace assay::compare {

/// Machines, programs and suites of the two sides' first runs. What changes from run to run by
/// itself (times, load, free memory) is left out.
[[nodiscard]] std::vector<Difference> run_differences(const judge::RunResult& base,
                                                      const judge::RunResult& candidate);
/// The effective configuration and the rules of a case.
[[nodiscard]] std::vector<Difference> case_differences(const judge::CaseResult& base,
                                                       const judge::CaseResult& candidate);

}  // namespace assay::compare
