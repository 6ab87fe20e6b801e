#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace assay::commands {

/// Where what a user names with an option such as -o is written: the file itself, or that to which
/// a link leads. Throws Error of kind usage for a device, a FIFO or a folder: what is written
/// replaces a file, and of them not even the name must be lost.
[[nodiscard]] std::filesystem::path output_place(const std::string& name);

/// Replaces that file, or makes it. Throws also Error of kind environment.
void write_output_file(const std::string& name, std::string_view text);

}  // namespace assay::commands
