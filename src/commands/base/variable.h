#pragma once

#include <cstdlib>
#include <string>

namespace assay::commands {

/// Of the environment; empty where it is not set.
[[nodiscard]] inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace assay::commands
