#pragma once

#include <vector>

#include "judge/evidence.h"
#include "judge/result.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::judge {

/// Compares the files of a round with the journal's records: each list entry with its file, each
/// node's chain of hashes with its links, and the links' statements with the growing files. Only
/// files that the judge reads count, so that a tester, which has no others, gets the same result. A
/// round without a list stays unchanged: integrity.listed is false. Reads every listed file once,
/// with as many threads as there are processors (`threads` > 0: that many).
void check_integrity(const store::RunDir& run, const plan::CasePlan& plan, RoundEvidence& evidence,
                     unsigned threads = 0);

/// Problems of a round's evidence that no rule of its case checks, because the suite switched the
/// rule off or the plan is older than the rule: changed evidence is never acceptable.
[[nodiscard]] std::vector<Finding> unasked_findings(const plan::CasePlan& plan,
                                                    const RoundEvidence& evidence);

}  // namespace assay::judge
