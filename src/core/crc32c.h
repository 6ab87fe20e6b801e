#pragma once

#include <cstdint>
#include <span>

namespace assay {

/// CRC-32C (Castagnoli); uses the CPU's instruction where it has one.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::uint8_t> bytes) noexcept;

/// The same value, computed from tables alone.
[[nodiscard]] std::uint32_t crc32c_portable(std::span<const std::uint8_t> bytes) noexcept;

/// The form in which TFRecord stores checksums.
[[nodiscard]] constexpr std::uint32_t masked_crc32c(std::uint32_t crc) noexcept {
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

}  // namespace assay
