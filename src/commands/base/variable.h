#pragma once

#include <cstdlib>
#include <string>

namespace assay::commands {

/// An environment variable; empty if not set.
[[nodiscard]] inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace assay::commands
