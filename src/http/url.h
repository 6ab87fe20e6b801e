#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::http {

/// Decoded names and values, in sending order.
using Query = std::vector<std::pair<std::string, std::string>>;

/// RFC 3986: everything but A-Z a-z 0-9 - . _ ~ becomes %XX; with `keep_slash`, "/" stays.
[[nodiscard]] std::string percent_encode(std::string_view text, bool keep_slash = false);

/// The inverse; leaves a "%" that is not followed by two hex digits.
[[nodiscard]] std::string percent_decode(std::string_view text);

/// "a=1&b=": both are encoded, and an empty value keeps its "=".
[[nodiscard]] std::string encode_query(const Query& query);

/// "?uploads&a=b" without the "?"; values decoded, "+" left alone.
[[nodiscard]] Query parse_query(std::string_view text);

/// As parse_query(), with '+' for a blank, as forms, URLSearchParams and most HTTP clients write
/// it.
[[nodiscard]] Query parse_form(std::string_view text);

struct Url {
  std::string origin;  ///< "https://host:port", lower case, without the scheme's default port
  std::string host;    ///< "host:port" as in the Host header
  std::string path;    ///< decoded; at least "/"
  Query query;
};

/// Throws Error of kind config at `where` for anything but http:// or https:// with a host. A text
/// without a scheme is taken as https. Refuses user names and passwords.
[[nodiscard]] Url parse_url(std::string_view text, const std::string& where);

}  // namespace assay::http
