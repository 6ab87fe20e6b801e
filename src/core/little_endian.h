#pragma once

#include <concepts>
#include <cstddef>
#include <string>

namespace assay {

/// Appends the bytes of `value`, lowest first, on every machine.
template <std::unsigned_integral T>
void put_little_endian(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
}

}  // namespace assay
