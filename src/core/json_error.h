#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace assay {

// The JSON library tells its errors in its own terms ("[json.exception.type_error.302] …"). What
// people read is said here, and nowhere else.

/// What is wrong with a document that could not be parsed, and where.
struct JsonFlaw {
  std::string what;  ///< "it ends too early", "unexpected 'x'"
  int line = 0;      ///< 1-based; 0: not known
  int column = 0;    ///< in bytes

  /// "file:3:7", or `file` alone.
  [[nodiscard]] std::string place(const std::string& file) const;
  /// "unexpected 'x' in line 3, column 7", where there is no file to name.
  [[nodiscard]] std::string sentence() const;
};

/// `error` is what the library threw for `text`.
[[nodiscard]] JsonFlaw flaw_of(const std::exception& error, std::string_view text);

/// What a value is that should have been another: "expected a string, got a number", "there is no
/// 'name'". For an exception that is not of the JSON library: its own text.
[[nodiscard]] std::string plain_error(const std::exception& error);

}  // namespace assay
