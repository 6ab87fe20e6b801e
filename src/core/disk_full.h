#pragma once

#include <exception>

namespace assay {

/// Whether it is a system_error(), Assay's or the library's, that says that a disk or a quota is
/// full: who asked for something is told to come back later, not that the program has failed.
[[nodiscard]] bool is_disk_full(const std::exception& error);

}  // namespace assay
