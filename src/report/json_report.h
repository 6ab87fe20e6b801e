#pragma once

#include <string>

#include "core/json.h"
#include "judge/result.h"

namespace assay::report {

/// The run as docs/result.schema.json describes it. Series are evidence for charts and are left
/// out; a number that is not finite is left out too.
[[nodiscard]] Json result_to_json(const judge::RunResult& result);

/// {"completeness", "integrity", "plausibility"} with {"state", "text"} each.
[[nodiscard]] Json evidence_to_json(const judge::EvidenceState& evidence);

/// result.json: the same result gives the same bytes.
[[nodiscard]] std::string render_json(const judge::RunResult& result);

}  // namespace assay::report
