#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"
#include "judge/result.h"

namespace assay::report {

/// The inverse of result_to_json(): a run as its result.json describes it. Members that are not in
/// that file (series, evaluations, the details of experiments) are empty, and so are phases, ranks,
/// sweeps and hooks. `where` names the file in errors. Throws Error of kind config for another
/// schema, and for anything that is not a result; members that an earlier version did not write
/// count as unknown.
[[nodiscard]] judge::RunResult read_result(const Json& json, const std::string& where);
/// The same of a regular file.
[[nodiscard]] judge::RunResult read_result(const std::filesystem::path& file);

}  // namespace assay::report
