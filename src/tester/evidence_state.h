#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/json.h"
#include "judge/result.h"

namespace assay::tester {

/// Why a test's evidence differs from the records of its measurement, one sentence each: a seal
/// that does not fit, files that were changed, added or replaced. Empty if nothing shows that.
/// `result` is the tester's own. Evidence without a seal has no such faults, and is never VALID.
[[nodiscard]] std::vector<std::string> integrity_faults(const judge::RunResult& result);

/// The tester's name for a public key; empty if unknown.
using NameOfKey = std::function<std::string(const std::string& public_key)>;

/// The part that the tester keeps and shows:
///   {"seal": {"state", "text", "fingerprint"?, "signed_at"?, "signer"?, "trusted"?},
///    "rounds": [{"case", "round", "completeness", "integrity", "plausibility"}]}
/// with {"state", "text"} for each of the last three.
[[nodiscard]] Json evidence_summary(const judge::RunResult& result, const NameOfKey& name_of);

}  // namespace assay::tester
