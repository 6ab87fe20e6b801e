#pragma once

#include <cstddef>
#include <string>

#include "judge/result.h"

namespace assay::report {

struct ConsoleStyle {
  bool color = false;       ///< ANSI colors; without them the text has no escape sequences
  std::size_t width = 100;  ///< columns of the terminal; at least 60 are used
  bool unicode = true;      ///< false: everything that Assay itself writes is ASCII
  std::string report = {};  ///< path of the HTML report, for the last line; empty: no such line
};

/// The table of cases with their verdicts, then the findings with advice, then the report's path.
[[nodiscard]] std::string render_console(const judge::RunResult& result,
                                         const ConsoleStyle& style = {});

}  // namespace assay::report
