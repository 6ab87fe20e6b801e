#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"
#include "judge/result.h"

namespace assay::report {

/// The other direction of result_to_json(): a run as its result.json tells it. What that file does
/// not hold (series, evaluations, the details of experiments) is empty, and so are phases, ranks,
/// sweeps and hooks. `where` names the file in errors. Throws Error of kind config for another
/// schema, and for what is no result at all; members that an earlier version did not write are as
/// if nothing was known.
[[nodiscard]] judge::RunResult read_result(const Json& json, const std::string& where);
/// The same of a regular file.
[[nodiscard]] judge::RunResult read_result(const std::filesystem::path& file);

}  // namespace assay::report
