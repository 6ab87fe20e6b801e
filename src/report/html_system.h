#pragma once

#include <string>

#include "core/json.h"
#include "page/markup.h"

namespace assay::report::html {

/// A JSON value of unknown structure as tables, bounded in depth and size.
[[nodiscard]] page::Html json_tree(const Json& value);

/// "node1 · 2 × EPYC 7742 · 64 cores · 512.00 GiB · 8 × A100", as far as known; "" if unknown.
[[nodiscard]] std::string machine_line(const Json& system);

}  // namespace assay::report::html
