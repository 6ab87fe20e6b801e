#pragma once

#include <cstddef>
#include <string>

#include "judge/result.h"

namespace assay::report {

struct ConsoleStyle {
  bool color = false;       ///< ANSI colors; without them the text holds no escape sequence
  std::size_t width = 100;  ///< columns of the terminal; at least 60 are used
  bool unicode = true;      ///< false: everything that Assay itself writes is ASCII
  std::string report = {};  ///< where the HTML report is, for the last line; empty: no such line
};

/// The table of cases with their verdicts, then the findings with advice, then where the report is.
[[nodiscard]] std::string render_console(const judge::RunResult& result,
                                         const ConsoleStyle& style = {});

}  // namespace assay::report
