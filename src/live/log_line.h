#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/enum_names.h"

namespace assay::live {

/// The kind of a line for a reader.
enum class Level : std::uint8_t { text, perf, warning, error };

constexpr auto enum_names(Level /*level*/) {
  using enum Level;
  return std::to_array<EnumName<Level>>(
      {{text, "text"}, {perf, "perf"}, {warning, "warning"}, {error, "error"}});
}

/// By what programs print: "ERROR", "Traceback (most recent call last)", "Segmentation fault" …;
/// a PerfLog line is one whatever it says. "0 errors" and names such as "error_rate" are no error.
[[nodiscard]] Level level_of(std::string_view line) noexcept;

/// When a PerfLog line was written: its `time_ms`; nothing for any other line.
[[nodiscard]] std::optional<std::int64_t> time_of(std::string_view line) noexcept;

/// The line as a terminal would leave it: without escape sequences and control characters, invalid
/// UTF-8 replaced, and of text that was overwritten by carriage returns only the last.
[[nodiscard]] std::string shown(std::string_view line);

}  // namespace assay::live
