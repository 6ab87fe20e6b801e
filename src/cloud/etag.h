#pragma once

#include <string>

namespace assay::cloud {

/// An ETag as it is compared: services quote it, or not.
[[nodiscard]] inline std::string unquoted(std::string text) {
  std::erase(text, '"');
  return text;
}

}  // namespace assay::cloud
