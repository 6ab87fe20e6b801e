#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::train::data {

/// The whole file into `bytes`, whose memory is reused. Throws Error of kind environment.
void read_whole(const std::string& path, std::vector<std::uint8_t>& bytes);

/// `size` bytes from `offset` on. Throws Error of kind environment, also when the file is shorter.
void read_at(const std::string& path, std::int64_t offset, std::int64_t size,
             std::vector<std::uint8_t>& bytes);

}  // namespace assay::train::data
