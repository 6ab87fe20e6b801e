#pragma once

#include <cstddef>
#include <string>

namespace assay::commands {

/// A line from stdin; what is typed on a terminal is not shown. Throws Error of kind usage where
/// there is none, or an empty one.
[[nodiscard]] std::string ask_hidden_line(const std::string& what);

/// The same for whatever is to be kept as it is: a line that is typed, else all of stdin without
/// the line break at its end, but for what is more than `most` bytes and one.
[[nodiscard]] std::string ask_hidden_text(const std::string& what, std::size_t most);

/// Without one line break at its end, as editors and echo leave it.
[[nodiscard]] std::string without_line_break(std::string text);

}  // namespace assay::commands
