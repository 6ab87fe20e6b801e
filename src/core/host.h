#pragma once

#include <filesystem>
#include <string>

namespace assay {

/// This machine's name as the kernel has it, or "localhost".
[[nodiscard]] std::string host_name();

/// The folder of the running program, where the other programs of Assay lie too; empty when the
/// kernel does not tell.
[[nodiscard]] std::filesystem::path program_folder();

}  // namespace assay
