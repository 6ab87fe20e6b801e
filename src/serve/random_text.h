#pragma once

#include <cstddef>
#include <string>

namespace assay::serve {

/// Random text from the kernel's generator, fit for secrets.
[[nodiscard]] std::string random_hex(std::size_t bytes);
[[nodiscard]] std::string random_alphanumerics(std::size_t count);

}  // namespace assay::serve
