#pragma once

#include "judge/result.h"
#include "store/run_dir.h"

namespace assay::commands {

/// Judges the run, writes its reports and prints the result. If they cannot be written, prints the
/// result and throws Error of kind environment.
judge::RunResult judge_and_report(const store::RunDir& run);

/// The same; also records the run in its folder's index, and returns the exit code.
int conclude(const store::RunDir& run);

/// Enters the run in the index of its folder, by assay-full if it is there; else the next query
/// does. Waits for seconds at most. `create` starts an index if there is none.
void enter_in_history(const store::RunDir& run, bool create);

/// 0 valid; 4 a launch failed; 5 a round failed, or the run is INCOMPLETE; 6 INVALID.
[[nodiscard]] int exit_code_of(const judge::RunResult& result) noexcept;

/// The exit code for a comparison that exceeds a given bound.
inline constexpr int kExceededExit = 7;

}  // namespace assay::commands
