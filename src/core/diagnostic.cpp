#include "core/diagnostic.h"

#include <fmt/format.h>

namespace assay {

std::string_view to_string(Severity severity) noexcept {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      break;
  }
  return "error";
}

std::string place(const Diagnostic& diagnostic) {
  if (diagnostic.line <= 0) return diagnostic.file;
  if (diagnostic.column <= 0) return fmt::format("{}:{}", diagnostic.file, diagnostic.line);
  return fmt::format("{}:{}:{}", diagnostic.file, diagnostic.line, diagnostic.column);
}

std::string to_string(const Diagnostic& diagnostic) {
  return fmt::format("{}: {}: {}", place(diagnostic), to_string(diagnostic.severity),
                     diagnostic.message);
}

}  // namespace assay
