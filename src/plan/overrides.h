#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "config/node.h"
#include "plan/suite.h"

namespace assay::plan {

/// The suite's document with the "path=value" settings applied. A path is a top-level key
/// (telemetry.interval), cases.NAME-OR-GLOB.KEY, or a case's key alone, which applies to every case
/// (limits.time). config.KEY applies to the cases that have that key; at least one must.
[[nodiscard]] config::Node apply_overrides(const Suite& suite, const catalog::Catalog& catalog,
                                           const std::vector<std::string>& overrides);

/// Matches shell globs (* ? [ ]) against the whole of `text`.
[[nodiscard]] bool glob_matches(const std::string& pattern, const std::string& text);
[[nodiscard]] bool is_glob(const std::string& pattern);

}  // namespace assay::plan
