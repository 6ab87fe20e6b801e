#pragma once

#include <string>

#include "config/node.h"

namespace assay::plan {

/// A word that no program takes for an option, and no shell for more than a word. `what` names it
/// in the error.
[[nodiscard]] std::string read_safe_word(const config::Node& node, const char* what);

/// A host name or a bare address, without a port.
[[nodiscard]] std::string read_host_name(const config::Node& node);

}  // namespace assay::plan
