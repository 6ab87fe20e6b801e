#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace assay {

// The JSON library reports errors in its own terms ("[json.exception.type_error.302] …"). The
// wording that people read is made here, and nowhere else.

/// What is wrong with a document that failed to parse, and where.
struct JsonFlaw {
  std::string what;  ///< "it ends too early", "unexpected 'x'"
  int line = 0;      ///< 1-based; 0 when unknown
  int column = 0;    ///< in bytes

  /// "file:3:7", or `file` alone.
  [[nodiscard]] std::string place(const std::string& file) const;
  /// "unexpected 'x' in line 3, column 7", for when there is no file to name.
  [[nodiscard]] std::string sentence() const;
};

/// `error` is the exception that the library threw for `text`.
[[nodiscard]] JsonFlaw flaw_of(const std::exception& error, std::string_view text);

/// Says how a value differs from what was expected: "expected a string, got a number", "there is no
/// 'name'". An exception that is not the JSON library's keeps its own text.
[[nodiscard]] std::string plain_error(const std::exception& error);

}  // namespace assay
