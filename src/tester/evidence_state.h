#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/json.h"
#include "judge/result.h"

namespace assay::tester {

/// Why the evidence of a test is not what was recorded when it was measured, one sentence each: a
/// seal that does not fit, files that were changed, added or exchanged. Empty: nothing shows that.
/// `result`: the tester's own. Evidence without a seal has no such faults, and is never
/// VALID.
[[nodiscard]] std::vector<std::string> integrity_faults(const judge::RunResult& result);

/// The name that the tester knows a public key by; empty: it does not.
using NameOfKey = std::function<std::string(const std::string& public_key)>;

/// What the tester keeps and shows of it:
///   {"seal": {"state", "text", "fingerprint"?, "signed_at"?, "signer"?, "trusted"?},
///    "rounds": [{"case", "round", "completeness", "integrity", "plausibility"}]}
/// with {"state", "text"} for each of the last three.
[[nodiscard]] Json evidence_summary(const judge::RunResult& result, const NameOfKey& name_of);

}  // namespace assay::tester
