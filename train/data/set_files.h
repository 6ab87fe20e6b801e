#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "train/data/image_set.h"

namespace assay::train::data {

// All of these throw Error: of kind config when an option is wrong, of kind environment when a
// file is.

/// `folder` must be given and be a folder that can be listed.
void require_folder(const std::filesystem::path& folder, const std::string& set);

/// The first of `folder`/`below` that has `file` (or `file`.gz); `advice` when none has. `set` is
/// the name of the data set.
[[nodiscard]] std::filesystem::path find_set_folder(const std::filesystem::path& folder,
                                                    const std::string& set,
                                                    std::initializer_list<std::string_view> below,
                                                    std::string_view file,
                                                    const std::string& advice);

/// The whole file. When it is missing but `path`.gz is there, the error says to gunzip.
[[nodiscard]] std::string read_set_file(const std::filesystem::path& path,
                                        const std::string& advice);

/// An error when the options ask for another number of classes than `found`.
void require_classes(const ImageSetOptions& options, std::int64_t found, const std::string& where);

[[nodiscard]] inline std::span<const std::uint8_t> as_bytes_view(std::string_view text) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace assay::train::data
