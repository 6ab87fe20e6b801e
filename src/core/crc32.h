#pragma once

#include <cstdint>
#include <span>

namespace assay {

/// CRC-32 as in Ethernet, zip and zlib. `before` is the CRC of the bytes that precede these.
[[nodiscard]] std::uint32_t crc32(std::span<const std::uint8_t> bytes,
                                  std::uint32_t before = 0) noexcept;

}  // namespace assay
