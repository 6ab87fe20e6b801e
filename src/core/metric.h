#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

enum class Better { higher, lower, neither };

[[nodiscard]] constexpr std::string_view to_string(Better better) noexcept {
  switch (better) {
    case Better::higher:
      return "higher";
    case Better::lower:
      return "lower";
    case Better::neither:
      break;
  }
  return "neither";
}

[[nodiscard]] constexpr std::optional<Better> parse_better(std::string_view text) noexcept {
  for (const Better b : {Better::higher, Better::lower, Better::neither})
    if (text == to_string(b)) return b;
  return std::nullopt;
}

/// A metric describes itself: reports and comparisons need no knowledge of particular metrics.
struct MetricInfo {
  std::string name;  ///< "p_whole"
  std::string unit;  ///< "samples/s"
  Better better = Better::neither;
  std::string description;
};

}  // namespace assay
