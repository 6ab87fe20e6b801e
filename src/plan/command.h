#pragma once

#include <string>
#include <vector>

#include "config/node.h"

namespace assay::plan {

/// The argv of a `command`: a list is taken as it is; text is split into words by POSIX quoting,
/// without a shell. With `shell`, text becomes /bin/sh -c text. Without it, unquoted characters
/// that only a shell interprets (| > $ * …) are an error.
[[nodiscard]] std::vector<std::string> read_command(const config::Node& node, bool shell);

/// Throws at the node for an unknown placeholder.
void check_placeholders(const config::Node& node, const std::string& text);

void check_placeholders(const std::string& where, const std::string& text);

/// Whether a checked text contains {name}.
[[nodiscard]] bool uses_placeholder(const std::string& text, const std::string& name);

/// The placeholders allowed in a command or environment value, sorted.
[[nodiscard]] const std::vector<std::string>& placeholder_names();

}  // namespace assay::plan
