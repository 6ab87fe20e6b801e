#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "train/tokens/bpe.h"

namespace assay::train::tokens {

/// How often each piece occurs in text.
class PieceCounts {
 public:
  explicit PieceCounts(const SplitRules& rules) : rules_(rules) {}

  void add(std::string_view text);
  /// `other` was counted by the same rules.
  void merge(const PieceCounts& other);

  [[nodiscard]] const SplitRules& rules() const noexcept { return rules_; }
  /// Pieces of more than 256 bytes are not counted: they are no words.
  static constexpr std::size_t kLongest = 256;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  friend class BpeLearner;
  SplitRules rules_;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> counts_;
};

/// A vocabulary of at most `size` tokens, at least 257: all bytes, then results of merges, each of
/// the two neighbours that occur most often (of several, those with the lowest ids), and
/// <|end_of_text|>. It has fewer when no two neighbours occur twice any longer. Depends on the
/// counts alone. `progress(merges done, merges wanted)` is called now and then. Throws Error of
/// kind config for another size.
[[nodiscard]] Bpe learn_bpe(const PieceCounts& counts, std::int64_t size,
                            const std::function<void(std::int64_t, std::int64_t)>& progress = {});

}  // namespace assay::train::tokens
