#pragma once

#include <string>
#include <string_view>

#include "judge/result.h"

namespace assay::report {

/// Reads only what lists and trends of runs need, at the speed of memory: the run's identity,
/// verdict, system and provenance; its cases' identity, verdict, headline, summary and
/// configuration; their rounds' number, status, verdict and times. All else is empty. Ignores the
/// evidence: a result that was changed by hand is read as it is.
///
/// Throws Error of kind config at `where` also for truncated text, and for a run or a case without
/// a name.
[[nodiscard]] judge::RunResult read_result_summary(std::string_view text, const std::string& where);

}  // namespace assay::report
