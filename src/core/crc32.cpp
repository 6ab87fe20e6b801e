#include "core/crc32.h"

#include "core/crc_tables.h"

namespace assay {

namespace {

constexpr CrcTables kEthernetTables(0xEDB88320U);

}  // namespace

std::uint32_t crc32(std::span<const std::uint8_t> bytes, std::uint32_t before) noexcept {
  return ~kEthernetTables.update(~before, bytes);
}

}  // namespace assay
