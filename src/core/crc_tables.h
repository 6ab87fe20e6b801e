#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace assay {

/// Tables for a 32-bit CRC, eight bytes at a time: [k][b] is the effect of byte b with k bytes
/// after it. `polynomial` is in reflected form.
class CrcTables {
 public:
  constexpr explicit CrcTables(std::uint32_t polynomial) {
    for (std::uint32_t b = 0; b < 256; ++b) {
      std::uint32_t crc = b;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0U);
      tables_[0][b] = crc;
    }
    for (std::size_t k = 1; k < tables_.size(); ++k)
      for (std::size_t b = 0; b < 256; ++b)
        tables_[k][b] = (tables_[k - 1][b] >> 8) ^ tables_[0][tables_[k - 1][b] & 0xFF];
  }

  /// The register after `bytes`, inverted neither before nor after.
  [[nodiscard]] std::uint32_t update(std::uint32_t crc,
                                     std::span<const std::uint8_t> bytes) const noexcept {
    const std::uint8_t* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; at += 8, left -= 8) {
      crc ^= std::uint32_t{at[0]} | std::uint32_t{at[1]} << 8 | std::uint32_t{at[2]} << 16 |
             std::uint32_t{at[3]} << 24;
      crc = tables_[7][crc & 0xFF] ^ tables_[6][crc >> 8 & 0xFF] ^ tables_[5][crc >> 16 & 0xFF] ^
            tables_[4][crc >> 24] ^ tables_[3][at[4]] ^ tables_[2][at[5]] ^ tables_[1][at[6]] ^
            tables_[0][at[7]];
    }
    for (; left > 0; ++at, --left) crc = (crc >> 8) ^ tables_[0][(crc ^ *at) & 0xFF];
    return crc;
  }

 private:
  std::array<std::array<std::uint32_t, 256>, 8> tables_{};
};

}  // namespace assay
