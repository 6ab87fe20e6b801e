#pragma once

#include <cmath>
#include <string>

#include <CLI/CLI.hpp>

#include "core/parse_number.h"

namespace assay::commands {

/// Validates a percentage. CLI11's own range accepts "nan", which no comparison exceeds.
inline CLI::Validator percent() {
  return {[](std::string& text) -> std::string {
            const auto number = parse_number<double>(text, 0.0, 100.0);
            if (number && !std::isnan(*number)) return {};
            return "not a number from 0 to 100: '" + text + "'";
          },
          "0 to 100"};
}

}  // namespace assay::commands
