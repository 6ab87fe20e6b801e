#pragma once

#include <string>

#include "config/node.h"

namespace assay::plan {

/// Text that no program takes for an option, and that a shell keeps as one argument. Errors call it
/// `what`.
[[nodiscard]] std::string read_safe_word(const config::Node& node, const char* what);

/// A host name or a bare address, without a port.
[[nodiscard]] std::string read_host_name(const config::Node& node);

}  // namespace assay::plan
