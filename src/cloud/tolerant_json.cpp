#include "cloud/tolerant_json.h"

#include <charconv>
#include <cmath>

namespace assay::cloud {

std::string text_of(const Json& json, const char* key) {
  if (!json.is_object()) return {};
  const auto at = json.find(key);
  if (at == json.end() || at->is_null() || at->is_structured()) return {};
  return at->is_string() ? at->get<std::string>() : at->dump();
}

std::int64_t integer_of(const Json& json, const char* key, std::int64_t fallback) {
  if (!json.is_object()) return fallback;
  const auto at = json.find(key);
  if (at == json.end()) return fallback;
  if (at->is_number_integer()) return at->get<std::int64_t>();
  if (at->is_number_float()) {
    const double value = at->get<double>();
    return std::isfinite(value) && std::abs(value) < 9e18 ? static_cast<std::int64_t>(value)
                                                          : fallback;
  }
  if (!at->is_string()) return fallback;
  const std::string text = at->get<std::string>();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : fallback;
}

const Json& member(const Json& json, const char* key) {
  static const Json nothing;
  if (!json.is_object()) return nothing;
  const auto at = json.find(key);
  return at != json.end() && at->is_structured() ? *at : nothing;
}

}  // namespace assay::cloud
