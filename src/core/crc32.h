#pragma once

#include <cstdint>
#include <span>

namespace assay {

/// CRC-32 of Ethernet, zip and zlib. `before` is that of the bytes in front of these.
[[nodiscard]] std::uint32_t crc32(std::span<const std::uint8_t> bytes,
                                  std::uint32_t before = 0) noexcept;

}  // namespace assay
