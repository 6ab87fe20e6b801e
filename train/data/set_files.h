#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "train/data/image_set.h"

namespace assay::train::data {

// All of these throw Error: of kind config for a wrong option, of kind environment for a wrong
// file.

/// `folder` must be given and be a readable folder.
void require_folder(const std::filesystem::path& folder, const std::string& set);

/// The first of `folder`/`below` with `file` (or `file`.gz); `advice` is for when none has it.
/// `set` is the data set's name.
[[nodiscard]] std::filesystem::path find_set_folder(const std::filesystem::path& folder,
                                                    const std::string& set,
                                                    std::initializer_list<std::string_view> below,
                                                    std::string_view file,
                                                    const std::string& advice);

/// Reads the whole file. If it is missing but `path`.gz exists, the error says to gunzip.
[[nodiscard]] std::string read_set_file(const std::filesystem::path& path,
                                        const std::string& advice);

/// It is an error if the options request a number of classes other than `found`.
void require_classes(const ImageSetOptions& options, std::int64_t found, const std::string& where);

[[nodiscard]] inline std::span<const std::uint8_t> as_bytes_view(std::string_view text) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace assay::train::data
