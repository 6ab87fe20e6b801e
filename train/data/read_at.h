#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::train::data {

/// Reads the whole file into `bytes`, reusing its memory. Throws Error of kind environment.
void read_whole(const std::string& path, std::vector<std::uint8_t>& bytes);

/// Reads `size` bytes at `offset`. Throws Error of kind environment, also if the file is shorter.
void read_at(const std::string& path, std::int64_t offset, std::int64_t size,
             std::vector<std::uint8_t>& bytes);

}  // namespace assay::train::data
