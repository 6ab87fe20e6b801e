#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "train/data/text_set.h"

namespace assay::train::data {

/// A WordPiece vocabulary: pieces that begin a word, and pieces ("##…") that continue it. Immutable
/// after construction.
class Vocabulary {
 public:
  /// `tokens` are in the order of their ids. Throws Error of kind environment at `where` if a token
  /// is empty or repeated, or a special token is missing.
  Vocabulary(std::vector<std::string> tokens, const std::string& where);

  /// Reads a vocab.txt: one token per line.
  [[nodiscard]] static Vocabulary read(const std::filesystem::path& path);

  [[nodiscard]] std::int64_t size() const noexcept {
    return static_cast<std::int64_t>(tokens_.size());
  }
  [[nodiscard]] const std::string& token(std::int32_t id) const { return tokens_[id]; }
  [[nodiscard]] const SpecialTokens& special() const noexcept { return special_; }

  /// Appends a word's pieces, always the longest one that fits next; the unknown token if none fits
  /// or the word has more than 100 characters.
  void encode(std::string_view word, std::vector<std::int32_t>& out) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Pieces = std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>>;

  std::vector<std::string> tokens_;
  Pieces begins_;
  Pieces goes_on_;
  SpecialTokens special_;
};

/// Whether the word has more than 100 characters, the most that are examined.
[[nodiscard]] bool is_too_long(std::string_view word) noexcept;

/// How often each word occurs.
using WordCounts = std::map<std::string, std::int64_t>;

/// Learns up to `size` tokens: the special tokens (ids 0…4), the characters (at most the 1,000 most
/// frequent, in that order), then merges of two neighboring pieces. Each merge is the one that
/// raises the text's likelihood most, count(ab) · log(count(ab) · all / (count(a) · count(b))), as
/// long as one occurs twice and raises it at all. Depends only on the counts.
[[nodiscard]] std::vector<std::string> learn_vocabulary(const WordCounts& words, std::int64_t size);

}  // namespace assay::train::data
