#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "config/node.h"
#include "plan/suite.h"

namespace assay::plan {

/// The suite's document with the given "path=value" settings made in it. Paths: a key of the top
/// level (telemetry.interval), cases.NAME-OR-GLOB.KEY, or a key of a case alone, which means every
/// case (limits.time). config.KEY reaches the cases that have such a key; at least one must.
[[nodiscard]] config::Node apply_overrides(const Suite& suite, const catalog::Catalog& catalog,
                                           const std::vector<std::string>& overrides);

/// Shell globbing (* ? [ ]) over the whole of `text`.
[[nodiscard]] bool glob_matches(const std::string& pattern, const std::string& text);
[[nodiscard]] bool is_glob(const std::string& pattern);

}  // namespace assay::plan
