#pragma once

#include <limits>
#include <string>
#include <vector>

#include "config/node.h"

namespace assay::config {

/// What a setting may be: one of some words, or a number within limits. The planner and the program
/// that takes the setting ask the same object, so both refuse the same values in the same words.
struct Bounds {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool whole = false;                  ///< the number is a whole one
  bool is_list = false;                ///< any number of such numbers
  std::vector<std::string> choices{};  ///< not empty: words; the rest does not count

  /// Throws Error of kind config at the value, or at the item of the list, that is no such thing;
  /// `key` is the setting's name.
  void check(const Node& value, const std::string& key) const;
};

/// "16777216", "0.01", "1e-08".
[[nodiscard]] std::string limit_text(double limit);

}  // namespace assay::config
