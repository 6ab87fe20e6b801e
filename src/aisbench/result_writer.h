#pragma once

#include <string>

namespace assay::aisbench {

// The workload's side of set_result. It is also compiled into the library that workloads load, so
// it uses the standard library and the system alone.

/// The variable that names the file for results; the run sets it.
inline constexpr const char* kResultsVariable = "ASSAY_SET_RESULT";

/// What is wrong with a call, for people; empty: nothing. Modes are training and inference. Keys
/// are those of ais-bench, and any NAME_start_time and NAME_end_time.
[[nodiscard]] std::string complaint_about(const std::string& mode, const std::string& key,
                                          const std::string& value);

/// Appends the call as one line of JSON (wall_ns, mono_ns, utc_offset_s, pid,
/// mode, key, value) to the file that
/// the variable names. Many processes may do so at once: the file is locked, and a line that a
/// killed process left unfinished is ended first. Gives what went wrong; empty: it is written.
[[nodiscard]] std::string write_result(const std::string& mode, const std::string& key,
                                       const std::string& value);

}  // namespace assay::aisbench
