#pragma once

#include <span>

namespace assay::train::tokens {

/// Code points first…last.
struct CodeRange {
  char32_t first;
  char32_t last;
};

/// The classes \p{L} and \p{N} of regular expressions, ascending.
[[nodiscard]] std::span<const CodeRange> letter_ranges() noexcept;
[[nodiscard]] std::span<const CodeRange> number_ranges() noexcept;

}  // namespace assay::train::tokens
