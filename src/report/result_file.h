#pragma once

#include <string>
#include <string_view>

#include "judge/result.h"

namespace assay::report {

/// read_result() for the members that lists and trends of runs need, at the speed of memory: the
/// run's identity, verdict, system and provenance; of its cases identity, verdict, headline,
/// summary and configuration; of their rounds number, status, verdict and times. Everything else is
/// empty. It does not read the evidence: a result that was edited by hand is read unchanged.
///
/// Throws Error of kind config at `where` also for truncated text, and for a run or a case
/// without a name.
[[nodiscard]] judge::RunResult read_result_summary(std::string_view text, const std::string& where);

}  // namespace assay::report
