#pragma once

#include <vector>

#include "judge/evidence.h"
#include "judge/result.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::judge {

/// Compares a round's files with the journal's records of them: each list entry with its file, each
/// node's chain of hashes with its links, and the links' statements about growing files with those
/// files. Covers only files that the judge reads, so that a tester, which has no others, gets the
/// same result. Leaves a round without a list as it is (integrity.listed is false). Reads every
/// listed file once, with as many threads as processors (or `threads`, if > 0).
void check_integrity(const store::RunDir& run, const plan::CasePlan& plan, RoundEvidence& evidence,
                     unsigned threads = 0);

/// Flaws of a round's evidence that no rule of its case asks about, because the suite switched the
/// rule off or the plan is older: changed evidence is never acceptable.
[[nodiscard]] std::vector<Finding> unasked_findings(const plan::CasePlan& plan,
                                                    const RoundEvidence& evidence);

}  // namespace assay::judge
