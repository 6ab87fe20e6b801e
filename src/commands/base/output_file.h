#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace assay::commands {

/// The file to write for a name given with an option such as -o: itself, or a link's target. Throws
/// Error of kind usage for a device, a FIFO or a folder: writing replaces a file, and these must
/// not even lose their name.
[[nodiscard]] std::filesystem::path output_place(const std::string& name);

/// Replaces or creates that file. Also throws Error of kind environment.
void write_output_file(const std::string& name, std::string_view text);

}  // namespace assay::commands
