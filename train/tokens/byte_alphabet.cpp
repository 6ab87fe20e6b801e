#include "train/tokens/byte_alphabet.h"

#include <algorithm>
#include <numeric>

#include "core/utf8.h"

namespace assay::train::tokens {

namespace {

// Bytes that are printable Latin-1 characters represent themselves; the others are U+0100 onwards.
constexpr std::array<char16_t, 256> kCharacters = [] {
  std::array<char16_t, 256> all{};
  char16_t next = 0x100;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    all[byte] = printable ? static_cast<char16_t>(byte) : next++;
  }
  return all;
}();

}  // namespace

std::string to_alphabet(std::string_view bytes) {
  std::string text;
  char buffer[4];
  for (const char byte : bytes)
    text.append(buffer, put_utf8(buffer, kCharacters[static_cast<unsigned char>(byte)]));
  return text;
}

std::optional<std::string> from_alphabet(std::string_view text) {
  static const std::array<int, 0x200> bytes = [] {
    std::array<int, 0x200> all{};
    all.fill(-1);
    for (std::size_t byte = 0; byte < 256; ++byte) all[kCharacters[byte]] = static_cast<int>(byte);
    return all;
  }();
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0 || length > 2) return std::nullopt;
    char32_t code = static_cast<unsigned char>(text[at]);
    if (length == 2) code = (code & 0x1F) << 6 | (static_cast<unsigned char>(text[at + 1]) & 0x3F);
    if (code >= bytes.size() || bytes[code] < 0) return std::nullopt;
    out += static_cast<char>(bytes[code]);
    at += length;
  }
  return out;
}

const std::array<unsigned char, 256>& alphabet_order() {
  static const std::array<unsigned char, 256> order = [] {
    std::array<unsigned char, 256> all{};
    std::iota(all.begin(), all.end(), static_cast<unsigned char>(0));
    std::ranges::sort(all, {}, [](unsigned char byte) { return kCharacters[byte]; });
    return all;
  }();
  return order;
}

}  // namespace assay::train::tokens
