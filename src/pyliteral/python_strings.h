#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pyliteral/python_tokens.h"

namespace assay::pyliteral {

struct StringPrefix {
  bool raw = false;
  bool bytes = false;
  bool format = false;
};

struct DecodedString {
  std::string text;
  std::vector<FormatPart> format;  ///< set only if it contains an expression
  std::string problem;             ///< why it cannot be read; else empty
};

/// The value of the text between the quotes of a string literal.
[[nodiscard]] DecodedString decode_string(std::string_view content, StringPrefix prefix);

/// Reads an integer or floating-point literal. Nothing if Assay does not read it (imaginary
/// numbers) or Python does not (leading zeros); `note` says so. An integer beyond 64 bits becomes a
/// float, which `note` says too.
[[nodiscard]] std::optional<Value> decode_number(std::string_view text, std::string& note);

}  // namespace assay::pyliteral
