#pragma once

#include <string>
#include <string_view>

#include "judge/result.h"

namespace assay::report {

/// read_result() for what lists and trends of runs need, at the speed of memory: the run's
/// identity, verdict, system and provenance; of its cases identity, verdict, headline, summary and
/// configuration; of their rounds number, status, verdict and times. All else is empty. The
/// evidence is not looked at: a result that was changed by hand reads as it is.
///
/// Throws Error of kind config at `where` also for text that is cut, and for a run or a case
/// without a name.
[[nodiscard]] judge::RunResult read_result_summary(std::string_view text, const std::string& where);

}  // namespace assay::report
