#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::train::tokens {

/// How text is cut into pieces before merging: tokenizers' regular expressions with look-ahead, in
/// the form of rules. Merges never cross the end of a piece.
struct SplitRules {
  bool any_case = false;   ///< also accepts 's, 't, 're, 've, 'm, 'll and 'd in capitals
  bool any_lead = false;   ///< any mark or space, not only ' ', may precede a word
  int most_digits = 0;     ///< per number; 0: any number, with a ' ' before them
  bool line_ends = false;  ///< marks include the line ends after them; line ends stay together
  bool operator==(const SplitRules&) const = default;
};

inline constexpr SplitRules kGpt2Rules{};
inline constexpr SplitRules kLlama3Rules{true, true, 3, true};
inline constexpr SplitRules kQwen2Rules{true, true, 1, true};

/// The regular expression for these rules, as in tokenizer.json.
[[nodiscard]] std::string pattern_of(const SplitRules& rules);
/// Nothing for an unknown pattern.
[[nodiscard]] std::optional<SplitRules> rules_of(std::string_view pattern);

/// The end of the piece that begins at `at`, which must be below text.size() and the end of a
/// piece. A byte outside valid UTF-8 counts as a mark.
[[nodiscard]] std::size_t piece_end(std::string_view text, std::size_t at,
                                    const SplitRules& rules) noexcept;

/// The first place at or after `at`, `at` > 0, where text can be divided without changing its
/// pieces under any rules; text.size() if there is none.
[[nodiscard]] std::size_t next_cut(std::string_view text, std::size_t at) noexcept;

enum class Glyph : std::uint8_t { letter, number, space, line_end, mark };
/// A code point's class in these rules; line ends are CR and LF.
[[nodiscard]] Glyph glyph_of(char32_t code) noexcept;

}  // namespace assay::train::tokens
