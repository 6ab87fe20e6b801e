#pragma once

#include <string>
#include <string_view>

namespace assay::train::data {

/// Splits text into words like BERT's basic tokenizer: at white space, with every punctuation mark
/// and CJK character separate, and without control characters. With `lower_case`, Latin, Greek and
/// Cyrillic letters become lower case and Latin accents are dropped. Invalid UTF-8 becomes U+FFFD.
class WordSplitter {
 public:
  WordSplitter(std::string_view text, bool lower_case) : text_(text), lower_case_(lower_case) {}

  /// Returns the next word, valid until the next call; false at the end.
  [[nodiscard]] bool next(std::string_view& word);

 private:
  std::string_view text_;
  bool lower_case_;
  std::size_t at_ = 0;
  std::string word_;
};

/// Returns the code point at `at` and advances past it. U+FFFD for an invalid byte.
[[nodiscard]] char32_t next_code_point(std::string_view text, std::size_t& at) noexcept;

}  // namespace assay::train::data
