#pragma once

#include <vector>

#include "judge/evidence.h"
#include "judge/result.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::judge {

/// Compares the files of a round with what the journal recorded of them: each list entry with its
/// file, each node's chain of hashes with its links, and what the links say about the files as they
/// grew. Only files that the judge reads count, so that a tester, which has no others, comes to the
/// same. A round without a list stays as it is: integrity.listed is false. Reads every listed file
/// once, by as many threads as there are processors (`threads` > 0: that many).
void check_integrity(const store::RunDir& run, const plan::CasePlan& plan, RoundEvidence& evidence,
                     unsigned threads = 0);

/// What is wrong with the evidence of a round and no rule of its case asks about, because the suite
/// switched it off or the plan is older than the rule: evidence that was changed is never fine.
[[nodiscard]] std::vector<Finding> unasked_findings(const plan::CasePlan& plan,
                                                    const RoundEvidence& evidence);

}  // namespace assay::judge
