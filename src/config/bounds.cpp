#include "config/bounds.h"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "config/mapping.h"

namespace assay::config {
namespace {

std::optional<double> number_in(const Node& node) {
  try {
    return node.number();
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::string limit_text(double limit) {
  constexpr double kExactlyWhole = 9e15;
  if (limit == std::floor(limit) && std::abs(limit) < kExactlyWhole)
    return std::to_string(static_cast<std::int64_t>(limit));
  return fmt::format("{}", limit);
}

void Bounds::check(const Node& value, const std::string& key) const {
  if (!choices.empty()) {
    (void)choice(value, choices);
    return;
  }
  if (is_list) {
    Bounds each = *this;
    each.is_list = false;
    for (const Node& item : value.items()) each.check(item, key);
    return;
  }
  // A JSON writer may give 1e3 or 5.0 for a whole number.
  const std::optional<double> number = number_in(value);
  const bool fits =
      number && *number >= min && *number <= max && (!whole || *number == std::floor(*number));
  if (!fits)
    value.fail(fmt::format("'{}' must be a {} from {} to {}, not {}", key,
                           whole ? "whole number" : "number", limit_text(min), limit_text(max),
                           value.describe()));
}

}  // namespace assay::config
