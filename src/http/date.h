#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::http {

/// A Unix time in ns as "Sun, 06 Nov 1994 08:49:37 GMT".
[[nodiscard]] std::string http_date(std::int64_t wall_ns);

/// The inverse; nothing if the text is not such a date.
[[nodiscard]] std::optional<std::int64_t> parse_http_date(std::string_view text);

}  // namespace assay::http
