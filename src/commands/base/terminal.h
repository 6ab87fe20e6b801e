#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/console.h"

namespace assay::commands {

/// The capabilities of stdout.
struct Terminal {
  bool interactive = false;  ///< a terminal that can redraw a line
  bool color = false;        ///< interactive, and NO_COLOR is not set
  bool unicode = true;       ///< the locale is UTF-8, or stdout is not a terminal
  std::size_t width = 100;
};

[[nodiscard]] Terminal terminal();
/// The current width, which changes with the window; `fallback` if stdout has none.
[[nodiscard]] std::size_t terminal_width(std::size_t fallback);
/// The current number of lines of stdout's screen; `fallback` if it has none.
[[nodiscard]] std::size_t terminal_height(std::size_t fallback);
/// Writes to stdout at once. A reader that went away (`assay run | head`) must not end a run, so
/// errors are ignored.
void say(std::string_view text);
/// Print Assay's messages in the reader's language: to stdout as say() does, and to stderr.
void tell(std::string_view english);
void tell_error(std::string_view english);

[[nodiscard]] report::ConsoleStyle console_style(const std::string& report_path);

}  // namespace assay::commands
