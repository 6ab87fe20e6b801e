#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "config/node.h"

namespace assay::config {

inline constexpr std::size_t kMaxFileBytes = 4U << 20;
inline constexpr std::size_t kMaxNodes = 200'000;  ///< with every alias counted in full
inline constexpr int kMaxDepth = 64;

/// Parses one YAML document. Nothing in it is ever executed, no tag makes an object. Stricter than
/// YAML: duplicate keys, several documents, merge keys, custom tags, keys that are not text, and
/// bytes that are not UTF-8 text are errors, at file:line:column. An empty document is null.
[[nodiscard]] Node parse_yaml(std::string_view text, const Source& source);

/// Reads `path` (a regular file of at most kMaxFileBytes). A file that cannot be read is an error
/// of kind config too: its name came from the user. `display` as in Source; default: the path.
[[nodiscard]] Node load_yaml(const std::filesystem::path& path, const std::string& display = {});

/// The text that load_yaml would parse.
[[nodiscard]] std::string read_yaml_text(const std::filesystem::path& path);

}  // namespace assay::config
