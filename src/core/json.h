#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace assay {

/// Keeps keys in the order in which they were written, so that files read well and are stable.
using Json = nlohmann::ordered_json;

/// Parses `text`; a syntax error becomes an Error of kind config at `where`.
[[nodiscard]] Json parse_json(std::string_view text, const std::string& where);

/// Like parse_json, but returns null for text that is not valid JSON.
[[nodiscard]] Json parse_json_or_null(std::string_view text);

/// One line, no trailing newline; invalid UTF-8 is replaced, non-finite numbers become null.
[[nodiscard]] std::string dump_line(const Json& value);

/// Indented by two, with a trailing newline; otherwise follows the rules of dump_line.
[[nodiscard]] std::string dump_pretty(const Json& value);

}  // namespace assay
