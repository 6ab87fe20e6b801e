#pragma once

#include <exception>

namespace assay {

/// Whether `error` is a system_error(), Assay's or the library's, for a full disk or quota: the
/// client is then asked to come back later instead of being told that the program failed.
[[nodiscard]] bool is_disk_full(const std::exception& error);

}  // namespace assay
