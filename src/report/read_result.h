#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"
#include "judge/result.h"

namespace assay::report {

/// The inverse of result_to_json(): a run as described by its result.json. Content that this file
/// does not hold (series, evaluations, details of experiments) is empty, and so are phases, ranks,
/// sweeps and hooks. `where` names the file in errors. Throws Error of kind config for another
/// schema, or a file that is not a result; members that an earlier version did not write are
/// treated as unknown.
[[nodiscard]] judge::RunResult read_result(const Json& json, const std::string& where);
/// The same for a regular file.
[[nodiscard]] judge::RunResult read_result(const std::filesystem::path& file);

}  // namespace assay::report
