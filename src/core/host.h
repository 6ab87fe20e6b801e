#pragma once

#include <filesystem>
#include <string>

namespace assay {

/// This machine's name as the kernel has it, or "localhost".
[[nodiscard]] std::string host_name();

/// The folder of the running program, which holds the other programs of Assay too; empty when
/// it is not known.
[[nodiscard]] std::filesystem::path program_folder();

}  // namespace assay
