#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace assay::train::tokens {

/// GPT-2's alphabet: every byte is a character that can be printed. Vocabularies of byte-level BPE
/// are written in it; a blank is 'Ġ' there.

/// In UTF-8.
[[nodiscard]] std::string to_alphabet(std::string_view bytes);
/// Nothing when `text` has a character that stands for no byte.
[[nodiscard]] std::optional<std::string> from_alphabet(std::string_view text);
/// All bytes in the order of their characters, as vocabularies begin with them.
[[nodiscard]] const std::array<unsigned char, 256>& alphabet_order();

}  // namespace assay::train::tokens
