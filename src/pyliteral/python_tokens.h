#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnostic.h"
#include "pyliteral/python_value.h"

namespace assay::pyliteral {

/// A piece of an f-string: literal text, or the source between braces.
struct FormatPart {
  std::string text;
  bool is_expression = false;
};

struct Token {
  enum class Kind { name, number, string, op };

  Kind kind = Kind::op;
  std::string_view text;  ///< as written in the source
  Place place;
  int depth = 0;  ///< surrounding brackets; a bracket's depth is that of its surroundings

  // Set for strings only.
  std::string decoded;             ///< escapes resolved
  std::vector<FormatPart> format;  ///< for an f-string with expressions; else empty
  std::string problem;             ///< why the string cannot be read; else empty

  [[nodiscard]] bool is(std::string_view wanted) const noexcept {
    return (kind == Kind::op || kind == Kind::name) && text == wanted;
  }
};

/// One logical line, as ended by Python's NEWLINE after joining brackets and backslashes.
struct LogicalLine {
  int indent = 0;  ///< columns, tabs to the next multiple of 8
  std::span<const Token> tokens;
  bool broken = false;  ///< a syntax error was reported in it
};

/// A file divided into tokens. The source text must outlive it. Lines without tokens are left out.
struct TokenStream {
  std::vector<Token> tokens;
  std::vector<LogicalLine> lines;
  std::vector<Diagnostic> problems;  ///< syntax errors; `file` is empty
};

/// Tokenizes Python source. Accepts a byte order mark, LF, CRLF and CR. Never throws for bad input:
/// errors are reported in `problems` and the rest of the file is still read. Brackets nested deeper
/// than Python allows (200) stop the reading.
[[nodiscard]] TokenStream tokenize(std::string_view source);

}  // namespace assay::pyliteral
