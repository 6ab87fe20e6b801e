#pragma once

#include "judge/result.h"
#include "store/run_dir.h"

namespace assay::commands {

/// Judges the run, writes its reports and prints the result. Where they cannot be written, it
/// prints the result and throws Error of kind environment.
judge::RunResult judge_and_report(const store::RunDir& run);

/// The same, notes the run in the index of its folder, and gives the exit code of the design.
int conclude(const store::RunDir& run);

/// 0 valid; 4 a launch failed; 5 a round failed, or the run is INCOMPLETE; 6 INVALID.
[[nodiscard]] int exit_code_of(const judge::RunResult& result) noexcept;

/// A comparison exceeds a bound that was given.
inline constexpr int kExceededExit = 7;

}  // namespace assay::commands
