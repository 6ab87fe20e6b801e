#pragma once

#include <algorithm>
#include <cctype>
#include <string>

namespace assay::cloud {

/// An ETag in a comparable form: services may quote it, call it weak (a leading "W/"), and write an
/// MD5's digits in upper or lower case.
[[nodiscard]] inline std::string comparable_etag(std::string text) {
  if (text.starts_with("W/")) text.erase(0, 2);
  std::erase(text, '"');
  const auto digit = [](unsigned char c) { return std::isxdigit(c) != 0; };
  const bool hash = text.size() >= 32 && std::all_of(text.begin(), text.begin() + 32, digit) &&
                    (text.size() == 32 || text[32] == '-');
  if (hash)
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace assay::cloud
