#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::http {

/// Names and values, decoded, in the order in which they are sent.
using Query = std::vector<std::pair<std::string, std::string>>;

/// RFC 3986: all but A-Z a-z 0-9 - . _ ~ becomes %XX; "/" stays when `keep_slash`.
[[nodiscard]] std::string percent_encode(std::string_view text, bool keep_slash = false);

/// The reverse; a "%" that two hex digits do not follow stays as it is.
[[nodiscard]] std::string percent_decode(std::string_view text);

/// "a=1&b=": both encoded, with "=" also for an empty value.
[[nodiscard]] std::string encode_query(const Query& query);

/// "?uploads&a=b" without the "?"; values decoded, "+" left alone.
[[nodiscard]] Query parse_query(std::string_view text);

/// As parse_query(), with '+' for a blank, as forms, URLSearchParams and most HTTP clients write it.
[[nodiscard]] Query parse_form(std::string_view text);

struct Url {
  std::string origin;  ///< "https://host:port", lower case, no port when it is the scheme's own
  std::string host;    ///< "host:port" as the Host header has it
  std::string path;    ///< decoded; "/" at least
  Query query;
};

/// Throws Error of kind config at `where` for what is not http:// or https:// with a host. A text
/// without scheme is taken as https. User names and passwords in it are refused.
[[nodiscard]] Url parse_url(std::string_view text, const std::string& where);

}  // namespace assay::http
