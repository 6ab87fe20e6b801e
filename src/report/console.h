#pragma once

#include <cstddef>
#include <string>

#include "judge/result.h"

namespace assay::report {

struct ConsoleStyle {
  bool color = false;       ///< ANSI colors; otherwise there are no escape sequences
  std::size_t width = 100;  ///< the terminal's columns; at least 60 are used
  bool unicode = true;      ///< false: Assay's own text is pure ASCII
  std::string report = {};  ///< the HTML report's place, for the last line; empty: no such line
};

/// The table of cases with their verdicts, the findings with advice, and the report's place.
[[nodiscard]] std::string render_console(const judge::RunResult& result,
                                         const ConsoleStyle& style = {});

}  // namespace assay::report
