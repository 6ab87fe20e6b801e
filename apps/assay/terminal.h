#pragma once

#include <cstddef>
#include <string>

#include "report/console.h"

namespace assay::app {

/// What stdout can show.
struct Terminal {
  bool interactive = false;  ///< a terminal that can redraw a line
  bool color = false;        ///< interactive, and NO_COLOR is not set
  bool unicode = true;       ///< the locale is UTF-8, or stdout is not a terminal
  std::size_t width = 100;
};

[[nodiscard]] Terminal terminal();
[[nodiscard]] report::ConsoleStyle console_style(const std::string& report_path);

}  // namespace assay::app
