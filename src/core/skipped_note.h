#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/parse_number.h"

namespace assay {

/// What stands in a log that is sent while a round runs in place of `bytes` that were too many.
[[nodiscard]] inline std::string skipped_note(std::uint64_t bytes) {
  return "[assay: " + std::to_string(bytes) +
         " bytes are not shown here; the whole log comes at the end of the round]";
}

struct SkippedHere {
  std::size_t note = 0;     ///< bytes of the note itself
  std::uint64_t bytes = 0;  ///< that it stands for
};
/// The note at the end of a line: what was skipped may have begun inside of it.
[[nodiscard]] inline std::optional<SkippedHere> skipped_in(std::string_view line) {
  constexpr std::string_view kBegin = "[assay: ";
  if (!line.ends_with(']')) return std::nullopt;
  const std::size_t at = line.rfind(kBegin);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view number = line.substr(at + kBegin.size());
  number = number.substr(0, number.find(' '));
  const auto bytes = parse_number<std::uint64_t>(number, 1);
  if (!bytes || line.substr(at) != skipped_note(*bytes)) return std::nullopt;
  return SkippedHere{line.size() - at, *bytes};
}

}  // namespace assay
