#pragma once

#include <filesystem>
#include <string>

namespace assay {

/// This machine's name according to the kernel, or "localhost".
[[nodiscard]] std::string host_name();

/// The folder of the running program, which also holds Assay's other programs; empty when it is
/// unknown.
[[nodiscard]] std::filesystem::path program_folder();

}  // namespace assay
