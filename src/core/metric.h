#pragma once

#include <string>

#include "core/enum_names.h"

namespace assay {

enum class Better { higher, lower, neither };

constexpr auto enum_names(Better /*better*/) {
  using enum Better;
  return std::to_array<EnumName<Better>>(
      {{higher, "higher"}, {lower, "lower"}, {neither, "neither"}});
}

/// A metric describes itself, so reports and comparisons need no knowledge of particular metrics.
struct MetricInfo {
  std::string name;  ///< "p_whole"
  std::string unit;  ///< "samples/s"
  Better better = Better::neither;
  std::string description;
};

}  // namespace assay
