#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace assay::cloud {

/// Returns once the first `bytes` of a part are available, or `stop` is requested. Called from
/// several threads.
using PartIsThere =
    std::function<void(std::size_t part, std::uint64_t bytes, const std::stop_token& stop)>;

/// The raw MD5s of a file's parts of `part_size` bytes, except for a shorter last one; computed on
/// all processors. Throws Error of kind environment, also if `stop` is requested. With `wait`, the
/// file may still be being written: data is waited for before it is read.
[[nodiscard]] std::vector<std::string> md5_of_parts(const std::filesystem::path& path,
                                                    std::uint64_t size, std::uint64_t part_size,
                                                    const std::stop_token& stop = {},
                                                    const PartIsThere& wait = {});

}  // namespace assay::cloud
