#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"

namespace assay {

/// "250ms", "1s", "1.5s", "5m", "2h", "3d"; a bare number is seconds. Nothing if it is not a
/// duration, is negative or not finite, or is too large for 64 bits of nanoseconds.
[[nodiscard]] std::optional<Nanoseconds> parse_duration(std::string_view text);

/// "512", "64K", "32M", "4G", "1T" (powers of 1024; "KB", "KiB" and lower case accepted).
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

/// "312 ms", "4.20 s", "3 min 05 s", "2 h 03 min", for people to read.
[[nodiscard]] std::string format_duration(Nanoseconds d);

/// The shortest form that parse_duration reads back exactly: "250ms", "1s".
[[nodiscard]] std::string duration_text(Nanoseconds d);

/// "1.50 GiB".
[[nodiscard]] std::string format_bytes(double bytes);

/// Up to four significant digits, with readable thousands: "12,345", "1,234", "12.35", "0.0123",
/// "1.2e-05".
[[nodiscard]] std::string format_number(double value);

}  // namespace assay
