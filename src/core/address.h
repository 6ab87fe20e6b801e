#pragma once

#include <string>

namespace assay {

/// Whether `text` is a numeric IPv4 ("10.1.2.3", no leading zeros) or IPv6 address.
[[nodiscard]] bool is_ip_address(const std::string& text) noexcept;

}  // namespace assay
