#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace assay {

/// The number that all of `text` spells, without spaces or a plus sign; nothing when it is anything
/// else or is not between `least` and `most`.
template <class T>
[[nodiscard]] std::optional<T> parse_number(std::string_view text,
                                            T least = std::numeric_limits<T>::has_infinity
                                                          ? -std::numeric_limits<T>::infinity()
                                                          : std::numeric_limits<T>::lowest(),
                                            T most = std::numeric_limits<T>::has_infinity
                                                         ? std::numeric_limits<T>::infinity()
                                                         : std::numeric_limits<T>::max()) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || value < least || value > most) return std::nullopt;
  return value;
}

}  // namespace assay
