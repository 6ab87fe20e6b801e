#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "compare/comparison.h"

namespace assay::compare {

/// Machines, programs and suites of the two sides' runs; values that differ among the runs of a
/// side are given as "this or that". Values that change from run to run by themselves (times, load,
/// free memory) are left out.
[[nodiscard]] std::vector<Difference> run_differences(std::span<const judge::RunResult> base,
                                                      std::span<const judge::RunResult> candidate);
/// The effective configuration and the rules of a case.
[[nodiscard]] std::vector<Difference> case_differences(const judge::CaseResult& base,
                                                       const judge::CaseResult& candidate);

/// The values to compare, by their path ("nodes 0.kernel"), for callers that store them.
using Leaves = std::map<std::string, std::string>;
[[nodiscard]] Leaves run_leaves(const judge::RunResult& run);
[[nodiscard]] Leaves case_leaves(const judge::CaseResult& result);
[[nodiscard]] std::vector<Difference> leaf_differences(const Leaves& base, const Leaves& candidate);

}  // namespace assay::compare
