#pragma once

#include <string>
#include <string_view>

#include "config/node.h"

namespace assay::importer {

/// A JSON object as nodes that know their line and column. Throws Error of kind config, at `file`,
/// for other JSON, invalid JSON or a repeated key; `what` names it ("a node file").
[[nodiscard]] config::Node parse_json_with_places(std::string_view text, const std::string& file,
                                                  std::string_view what);

}  // namespace assay::importer
