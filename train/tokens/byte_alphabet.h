#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace assay::train::tokens {

/// GPT-2's alphabet, in which every byte is a printable character. Vocabularies of byte-level BPE
/// are written in it; a blank is 'Ġ'.

/// In UTF-8.
[[nodiscard]] std::string to_alphabet(std::string_view bytes);
/// Nothing if `text` has a character that represents no byte.
[[nodiscard]] std::optional<std::string> from_alphabet(std::string_view text);
/// All bytes in the order of their characters, with which vocabularies begin.
[[nodiscard]] const std::array<unsigned char, 256>& alphabet_order();

}  // namespace assay::train::tokens
