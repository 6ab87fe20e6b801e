#pragma once

#include <string>

namespace assay {

/// This machine's name as the kernel has it, or "localhost".
[[nodiscard]] std::string host_name();

}  // namespace assay
