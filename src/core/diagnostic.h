#pragma once

#include <string>
#include <string_view>

namespace assay {

enum class Severity {
  note,     ///< for the record; nothing is lost
  warning,  ///< something was not carried over
  error,    ///< the system that owns the file could not use it either
};

/// "note", "warning", "error".
[[nodiscard]] std::string_view to_string(Severity severity) noexcept;

/// Something a user should know about a file that was read. Line and column count from 1 (columns
/// in characters, not bytes) and are 0 when the whole file is meant.
struct Diagnostic {
  std::string file;
  int line = 0;
  int column = 0;
  Severity severity = Severity::note;
  std::string message;
};

/// "file:line:column", as far as known.
[[nodiscard]] std::string place(const Diagnostic& diagnostic);

/// "file:line:column: warning: message".
[[nodiscard]] std::string to_string(const Diagnostic& diagnostic);

}  // namespace assay
