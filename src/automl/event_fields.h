#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/text.h"

namespace assay::automl {

// Fields of a journal's event; the fallback when one is missing or of a wrong type.

[[nodiscard]] inline double number_in(const Json& event, const char* key, double fallback = 0) {
  const auto at = event.find(key);
  if (at == event.end() || !at->is_number()) return fallback;
  const double value = at->get<double>();
  return std::isfinite(value) ? value : fallback;
}

[[nodiscard]] inline std::int64_t integer_in(const Json& event, const char* key,
                                             std::int64_t fallback = 0) {
  const auto at = event.find(key);
  return at != event.end() && at->is_number_integer() ? at->get<std::int64_t>() : fallback;
}

[[nodiscard]] inline std::string text_in(const Json& event, const char* key) {
  const auto at = event.find(key);
  return at != event.end() && at->is_string() ? at->get<std::string>() : std::string();
}

/// Foreign text as it is written to an event: short, and without control characters.
[[nodiscard]] inline std::string event_text(std::string_view text) {
  return ellipsize(printable(text), 300);
}

}  // namespace assay::automl
