#pragma once

#include <string>

namespace assay::aisbench {

// The workload's side of set_result. The library that workloads load contains it, too, so it
// depends on nothing but the standard library and the system.

/// The environment variable with the file for the results; the run sets it.
inline constexpr const char* kResultsVariable = "ASSAY_SET_RESULT";

/// Says what is wrong with a call; empty if nothing is. The modes are training and inference. The
/// keys are those of ais-bench and any NAME_start_time and NAME_end_time.
[[nodiscard]] std::string complaint_about(const std::string& mode, const std::string& key,
                                          const std::string& value);

/// Appends the call to that file as one line of JSON (wall_ns, mono_ns, utc_offset_s, pid, mode,
/// key, value). Many processes may do so at once, because each locks the file and first ends a line
/// that a killed process has left unfinished. Returns what went wrong; empty on success.
[[nodiscard]] std::string write_result(const std::string& mode, const std::string& key,
                                       const std::string& value);

}  // namespace assay::aisbench
