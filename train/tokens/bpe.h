#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "train/tokens/split.h"
#include "train/tokens/text_finder.h"

namespace assay::train::tokens {

/// A token that no merge produces: <|end_of_text|>.
struct SpecialToken {
  std::string text;
  std::int32_t id = 0;
  bool operator==(const SpecialToken&) const = default;
};

/// A token found verbatim in text before the rest is cut into pieces, such as a run of blanks.
struct AddedToken {
  std::string text;
  std::int32_t id = 0;
  bool normalized = false;  ///< searched for only between the tokens without it
  bool operator==(const AddedToken&) const = default;
};

/// Merges two tokens into one.
struct Merge {
  std::int32_t left = 0;
  std::int32_t right = 0;
  std::int32_t result = 0;
  bool operator==(const Merge&) const = default;
};

/// The parts of a byte-level BPE tokenizer.
struct BpeParts {
  std::vector<std::string> tokens;  ///< each id's bytes; empty for an id without a token
  std::vector<Merge> merges;        ///< the first has the lowest rank and is done first
  std::vector<SpecialToken> special;
  std::vector<AddedToken> added;
  SplitRules rules;
  bool whole_words = false;  ///< a piece that is itself a token is not split (`ignore_merges`)
};

/// Byte-level byte-pair encoding: text is cut into pieces, and within a piece the neighboring
/// tokens with the lowest rank are merged repeatedly, starting from bytes. It can encode any bytes,
/// and decoding restores them. Immutable; usable by any thread.
class Bpe {
 public:
  /// Throws Error of kind config at `where` if a byte has no token, an id is repeated, or a merge's
  /// result does not have its parts' bytes.
  Bpe(BpeParts parts, const std::string& where);
  Bpe(Bpe&&) noexcept = default;
  Bpe& operator=(Bpe&&) noexcept = default;

  /// Ids are 0…vocabulary()-1, including special ones.
  [[nodiscard]] std::int64_t vocabulary() const noexcept {
    return static_cast<std::int64_t>(parts_.tokens.size());
  }
  [[nodiscard]] const BpeParts& parts() const noexcept { return parts_; }
  [[nodiscard]] std::optional<std::int32_t> special(std::string_view text) const noexcept;
  [[nodiscard]] std::optional<std::int32_t> added(std::string_view text) const noexcept;
  /// The token that ends a document: the first existing one of <|end_of_text|>, <|endoftext|>, </s>
  /// and <eos>, special or added.
  [[nodiscard]] std::optional<std::int32_t> end_of_text() const noexcept;

  /// The bytes of the tokens. Throws Error of kind config for an id without a token.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> ids) const;

 private:
  friend class BpeEncoder;
  struct Slot {
    std::uint64_t pair = ~std::uint64_t{0};
    std::int32_t rank = 0;
    std::int32_t result = 0;
  };
  void check_parts(const std::string& where);
  void index_bytes(const std::string& where);
  void index_merges();
  [[nodiscard]] const Slot* find(std::int32_t left, std::int32_t right) const noexcept;

  BpeParts parts_;
  std::array<std::int32_t, 256> byte_ids_{};
  std::array<TextFinder, 2> added_;  // from parts_: those without `normalized`, then those with it
  std::vector<Slot> slots_;          // open addressing, a power of two
  std::unordered_map<std::string_view, std::int32_t> words_;  // from parts_, if whole_words
};

/// Encodes text with one thread's scratch memory; caches the results for frequent pieces.
class BpeEncoder {
 public:
  /// `bpe` must outlive this.
  explicit BpeEncoder(const Bpe& bpe);

  /// Appends the tokens of `text`. Added tokens are recognized; special ones are treated as
  /// ordinary text.
  void encode(std::string_view text, std::vector<std::int32_t>& ids);

 private:
  // One cache line. Longer pieces, and those with more tokens, are not cached.
  struct alignas(64) Known {
    static constexpr std::size_t kBytes = 26;
    static constexpr std::size_t kTokens = 9;
    std::int32_t ids[kTokens] = {};
    char bytes[kBytes] = {};
    std::uint8_t size = 0;
    std::uint8_t count = 0;
  };
  struct Node {
    std::int32_t id;
    std::int32_t before;
    std::int32_t after;
  };

  void encode_around(std::string_view text, std::size_t pass, std::vector<std::int32_t>& ids);
  void encode_piece(std::string_view piece, std::vector<std::int32_t>& ids);
  void merge_short(std::string_view piece, std::vector<std::int32_t>& ids);
  void merge_long(std::string_view piece, std::vector<std::int32_t>& ids);

  const Bpe& bpe_;
  std::vector<Known> known_;
  std::vector<Node> nodes_;
};

}  // namespace assay::train::tokens
