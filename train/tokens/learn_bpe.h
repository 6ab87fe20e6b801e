#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "train/tokens/bpe.h"

namespace assay::train::tokens {

/// How often each piece occurs in a text.
class PieceCounts {
 public:
  explicit PieceCounts(const SplitRules& rules) : rules_(rules) {}

  void add(std::string_view text);
  /// `other` must have been counted with the same rules.
  void merge(const PieceCounts& other);

  [[nodiscard]] const SplitRules& rules() const noexcept { return rules_; }
  /// Does not count pieces of more than 256 bytes, which are not words.
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

/// A vocabulary of at most `size` tokens, at least 257: all bytes, then the results of merges, each
/// of the two neighbors that occur most often (those with the lowest ids if several do), and
/// <|end_of_text|>. It is smaller if no two neighbors occur twice any more. Depends only on the
/// counts. Calls `progress(merges done, merges wanted)` occasionally. Throws Error of kind config
/// for another size.
[[nodiscard]] Bpe learn_bpe(const PieceCounts& counts, std::int64_t size,
                            const std::function<void(std::int64_t, std::int64_t)>& progress = {});

}  // namespace assay::train::tokens
