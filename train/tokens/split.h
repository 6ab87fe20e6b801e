#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::train::tokens {

/// How text is cut into pieces before their bytes are merged: what tokenizers write as a regular
/// expression with a look-ahead, as rules. Merges never cross the end of a piece.
struct SplitRules {
  bool any_case = false;  ///< 's, 't, 're, 've, 'm, 'll and 'd in capitals, too
  bool any_lead = false;  ///< any mark or space, not only ' ', may stand before a word
  int most_digits = 0;    ///< of a number; 0: any number of them, and a ' ' before them
  bool line_ends =
      false;  ///< marks take the ends of lines behind them; ends of lines stay together
  bool operator==(const SplitRules&) const = default;
};

inline constexpr SplitRules kGpt2Rules{};
inline constexpr SplitRules kLlama3Rules{true, true, 3, true};
inline constexpr SplitRules kQwen2Rules{true, true, 1, true};

/// The regular expression of these rules, as tokenizer.json has it.
[[nodiscard]] std::string pattern_of(const SplitRules& rules);
/// Nothing when it is none of the patterns that are known.
[[nodiscard]] std::optional<SplitRules> rules_of(std::string_view pattern);

/// Where the piece ends that begins at `at`, which is below text.size() and the end of a piece. A
/// byte that belongs to no UTF-8 sequence counts as a mark.
[[nodiscard]] std::size_t piece_end(std::string_view text, std::size_t at,
                                    const SplitRules& rules) noexcept;

/// The first place from `at` on, `at` > 0, where text can be cut in two without changing its
/// pieces, whatever the rules; text.size() when there is none.
[[nodiscard]] std::size_t next_cut(std::string_view text, std::size_t at) noexcept;

enum class Glyph : std::uint8_t { letter, number, space, line_end, mark };
/// What a code point is to these rules; line ends are CR and LF.
[[nodiscard]] Glyph glyph_of(char32_t code) noexcept;

}  // namespace assay::train::tokens
