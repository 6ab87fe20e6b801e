#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "compare/comparison.h"

namespace assay::compare {

/// The differences in machines, programs and suites between the two sides' runs; a value that
/// varies within a side is given as "this or that". Values that change with every run (times, load,
/// free memory) are left out.
[[nodiscard]] std::vector<Difference> run_differences(std::span<const judge::RunResult> base,
                                                      std::span<const judge::RunResult> candidate);
/// The differences in a case's effective configuration and rules.
[[nodiscard]] std::vector<Difference> case_differences(const judge::CaseResult& base,
                                                       const judge::CaseResult& candidate);

/// The comparable values by path ("nodes 0.kernel"), for callers that store them.
using Leaves = std::map<std::string, std::string>;
[[nodiscard]] Leaves run_leaves(const judge::RunResult& run);
[[nodiscard]] Leaves case_leaves(const judge::CaseResult& result);
[[nodiscard]] std::vector<Difference> leaf_differences(const Leaves& base, const Leaves& candidate);

}  // namespace assay::compare
