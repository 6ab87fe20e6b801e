#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace assay {

/// 64 lower-case hex digits.
[[nodiscard]] std::string sha256(std::string_view data);

/// The hash of a file's content, read in pieces; throws Error of kind environment.
[[nodiscard]] std::string sha256_file(const std::filesystem::path& path);

}  // namespace assay
