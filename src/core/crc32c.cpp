#include "core/crc32c.h"

#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#include "core/crc_tables.h"

namespace assay {

namespace {

constexpr CrcTables kCastagnoliTables(0x82F63B78U);

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
  return ~kCastagnoliTables.update(0xFFFFFFFFU, bytes);
}

std::uint32_t crc32c(std::span<const std::uint8_t> bytes) noexcept {
#if defined(__x86_64__)
  if (have_sse42) return crc32c_sse42(bytes);
#endif
  return crc32c_portable(bytes);
}

}  // namespace assay
