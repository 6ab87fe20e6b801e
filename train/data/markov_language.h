#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "train/data/random.h"
#include "train/data/token_set.h"

namespace assay::train::data {

/// The language of the `language` set: documents that begin with token 0, followed by tokens drawn
/// from a distribution that depends on the last token and the class of the one before it. After
/// every token, a new document begins with probability `document_end`; otherwise the next token is
/// one of `choices` different ones, with probabilities proportional to 1, 1/2, 1/3, … A model must
/// therefore look two tokens back, and its loss is known: the entropy is the same after all tokens.
/// Immutable.
class Language {
 public:
  static constexpr std::int64_t classes = 4;  // of tokens, by remainder
  static constexpr std::int64_t choices = 8;
  static constexpr double document_end = 1.0 / 64;
  static constexpr std::int64_t least_vocabulary = 64;

  /// Draws the possible successors from the seed. Token ids are 0…vocabulary-1.
  Language(std::int64_t vocabulary, std::uint64_t seed);

  [[nodiscard]] std::int64_t vocabulary() const noexcept { return vocabulary_; }
  /// In nats per token.
  [[nodiscard]] double entropy() const noexcept;
  /// P(`next`) after `before` and `last`; `before` is 0 where `last` begins a document.
  [[nodiscard]] double probability(std::int32_t before, std::int32_t last,
                                   std::int32_t next) const noexcept;
  [[nodiscard]] std::int32_t draw(std::int32_t before, std::int32_t last,
                                  Random& random) const noexcept;

 private:
  [[nodiscard]] const std::int32_t* following(std::int32_t before,
                                              std::int32_t last) const noexcept {
    return following_.data() + (last * classes + before % classes) * choices;
  }

  std::int64_t vocabulary_;
  std::array<double, choices> probabilities_{};  // of each choice, if no document ends
  std::vector<std::int32_t> following_;          // [vocabulary, classes, choices]
};

/// Rows of the generated language, each starting at the beginning of a document.
[[nodiscard]] TokenSet open_language(const TokenSetOptions& options);

}  // namespace assay::train::data
