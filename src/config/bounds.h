#pragma once

#include <limits>
#include <string>
#include <vector>

#include "config/node.h"

namespace assay::config {

/// The allowed values of a setting: one of some words, or a number within limits. The planner and
/// the program that takes it use the same object, so both refuse the same values in the same words.
struct Bounds {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool whole = false;                  ///< the number must be whole
  bool is_list = false;                ///< any number of such values
  std::vector<std::string> choices{};  ///< if not empty: the allowed words, instead of numbers

  /// Throws Error of kind config at the value, or at the list item, that is not allowed; `key` is
  /// the setting's name.
  void check(const Node& value, const std::string& key) const;
};

/// "16777216", "0.01", "1e-08".
[[nodiscard]] std::string limit_text(double limit);

}  // namespace assay::config
