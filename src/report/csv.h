#pragma once

#include <string>
#include <string_view>

#include "judge/result.h"

namespace assay::report {

/// results.csv: one row per case, round and metric. RFC 4180 (CRLF, doubled quotes). Text that a
/// spreadsheet would take for a formula gets a leading apostrophe; numbers have full precision.
[[nodiscard]] std::string render_csv(const judge::RunResult& result);

/// ranks.csv: one row per case, round and rank, in the same form.
[[nodiscard]] std::string render_ranks_csv(const judge::RunResult& result);

/// A text cell in that form, for other tables.
[[nodiscard]] std::string csv_cell(std::string_view text);

}  // namespace assay::report
