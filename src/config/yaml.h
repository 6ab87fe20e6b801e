#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "config/node.h"

namespace assay::config {

inline constexpr std::size_t kMaxFileBytes = 4U << 20;
inline constexpr std::size_t kMaxNodes = 200'000;  ///< each alias counts in full
inline constexpr int kMaxDepth = 64;

/// Parses one YAML document. Nothing in it is executed, and no tag creates an object. Stricter than
/// YAML: duplicate keys, several documents, merge keys, custom tags, keys that are not text, and
/// invalid UTF-8 are errors at file:line:column. An empty document is null.
[[nodiscard]] Node parse_yaml(std::string_view text, const Source& source);

/// Reads `path` (a regular file of at most kMaxFileBytes). An unreadable file is also an error of
/// kind config, because its name came from the user. `display` is as in Source; default: the path.
[[nodiscard]] Node load_yaml(const std::filesystem::path& path, const std::string& display = {});

/// The text that load_yaml would parse.
[[nodiscard]] std::string read_yaml_text(const std::filesystem::path& path);

}  // namespace assay::config
