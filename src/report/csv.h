#pragma once

#include <string>

#include "judge/result.h"

namespace assay::report {

/// results.csv: one row per case, round and metric. RFC 4180 (CRLF, quotes doubled). Text that a
/// spreadsheet would take for a formula gets a leading apostrophe; numbers have full precision.
[[nodiscard]] std::string render_csv(const judge::RunResult& result);

/// ranks.csv: one row per case, round and rank, in the same form.
[[nodiscard]] std::string render_ranks_csv(const judge::RunResult& result);

}  // namespace assay::report
