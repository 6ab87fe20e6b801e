#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace assay::cloud {

/// The MD5s of eight streams at once, one in each lane of a vector register: MD5 waits for itself,
/// so eight take hardly longer than one. All streams must be fed the same number of bytes.
class Md5Lanes {
 public:
  static constexpr std::size_t kLanes = 8;

  /// `size` more bytes of every stream, a multiple of 64.
  void update(const std::array<const unsigned char*, kLanes>& data, std::size_t size);
  /// The raw MD5s, after the last `size` (< 64) bytes of every stream.
  [[nodiscard]] std::array<std::string, kLanes> finish(
      const std::array<const unsigned char*, kLanes>& data, std::size_t size);

 private:
  std::array<std::array<std::uint32_t, kLanes>, 4> state_ = initial();
  std::uint64_t total_ = 0;

  static std::array<std::array<std::uint32_t, kLanes>, 4> initial();
};

/// Returns when the first `bytes` of a part are there, or `stop` is requested.
using PartIsThere =
    std::function<void(std::size_t part, std::uint64_t bytes, const std::stop_token& stop)>;

/// The raw MD5s of a file's parts of `part_size` bytes each, the last one what is left. Throws
/// Error of kind environment, also when `stop` is requested. With `wait`, the file may still be
/// written: nothing is read before it was waited for.
[[nodiscard]] std::vector<std::string> md5_of_parts(const std::filesystem::path& path,
                                                    std::uint64_t size, std::uint64_t part_size,
                                                    const std::stop_token& stop = {},
                                                    const PartIsThere& wait = {});

}  // namespace assay::cloud
