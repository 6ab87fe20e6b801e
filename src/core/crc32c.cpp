#include "core/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace assay {

namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b]: the effect of byte b with k bytes after it.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    tables[0][b] = crc;
  }
  for (std::size_t k = 1; k < tables.size(); ++k)
    for (std::size_t b = 0; b < 256; ++b)
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xFF];
  return tables;
}

constexpr Tables kCrcTables = make_tables();

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(
    std::span<const std::uint8_t> bytes) noexcept {
  std::uint64_t crc = 0xFFFFFFFFU;
  const std::uint8_t* at = bytes.data();
  const std::uint8_t* const end = at + bytes.size();
  for (; end - at >= 8; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto rest = static_cast<std::uint32_t>(crc);
  for (; at != end; ++at) rest = _mm_crc32_u8(rest, *at);
  return ~rest;
}

const bool have_sse42 = __builtin_cpu_supports("sse4.2") != 0;

#endif

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::uint8_t> bytes) noexcept {
  std::uint32_t crc = 0xFFFFFFFFU;
  const std::uint8_t* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    crc ^= std::uint32_t{at[0]} | std::uint32_t{at[1]} << 8 | std::uint32_t{at[2]} << 16 |
           std::uint32_t{at[3]} << 24;
    crc = kCrcTables[7][crc & 0xFF] ^ kCrcTables[6][crc >> 8 & 0xFF] ^
          kCrcTables[5][crc >> 16 & 0xFF] ^ kCrcTables[4][crc >> 24] ^ kCrcTables[3][at[4]] ^
          kCrcTables[2][at[5]] ^ kCrcTables[1][at[6]] ^ kCrcTables[0][at[7]];
  }
  for (; left > 0; ++at, --left) crc = (crc >> 8) ^ kCrcTables[0][(crc ^ *at) & 0xFF];
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::uint8_t> bytes) noexcept {
#if defined(__x86_64__)
  if (have_sse42) return crc32c_sse42(bytes);
#endif
  return crc32c_portable(bytes);
}

}  // namespace assay
