#pragma once

#include <string>

#include "core/json.h"
#include "judge/result.h"

namespace assay::report {

/// The run as described by docs/result.schema.json. Leaves out series, which are evidence for
/// charts, and non-finite numbers.
[[nodiscard]] Json result_to_json(const judge::RunResult& result);

/// {"completeness", "integrity", "plausibility"}, each with {"state", "text"}.
[[nodiscard]] Json evidence_to_json(const judge::EvidenceState& evidence);

/// result.json; the same result yields the same bytes.
[[nodiscard]] std::string render_json(const judge::RunResult& result);

}  // namespace assay::report
