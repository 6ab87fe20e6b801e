#pragma once

#include <string>
#include <string_view>

namespace assay::train::data {

/// Takes text apart into words as BERT's basic tokenizer does: at white space, every punctuation
/// mark and every CJK character on its own, control characters left out. With `lower_case`, Latin,
/// Greek and Cyrillic letters are lower-cased and Latin accents dropped. Bytes that are not UTF-8
/// become U+FFFD.
class WordSplitter {
 public:
  WordSplitter(std::string_view text, bool lower_case) : text_(text), lower_case_(lower_case) {}

  /// The next word, valid until the next call; false at the end.
  [[nodiscard]] bool next(std::string_view& word);

 private:
  std::string_view text_;
  bool lower_case_;
  std::size_t at_ = 0;
  std::string word_;
};

/// The code point at `at`, which moves past it. U+FFFD for a byte that belongs to none.
[[nodiscard]] char32_t next_code_point(std::string_view text, std::size_t& at) noexcept;

}  // namespace assay::train::data
