#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

/// Whether `text` is a numeric IPv4 ("10.1.2.3", no leading zeros) or IPv6 address.
[[nodiscard]] bool is_ip_address(const std::string& text) noexcept;

/// A numeric address and a port from 0 to 65535.
struct Endpoint {
  std::string address;
  int port = 0;
};

/// "127.0.0.1:9400" or "[::1]:9400"; nothing for anything else.
[[nodiscard]] std::optional<Endpoint> parse_endpoint(const std::string& text);

/// Whether `address`, which is numeric, is reachable only from this machine: 127.x.x.x or ::1.
[[nodiscard]] bool is_loopback(const std::string& address) noexcept;

/// Whether a URL's authority, "host" or "host:port", names this machine by its form alone:
/// localhost, 127.x.x.x or [::1]. "127.example.org" does not, nor does a user name before the host.
[[nodiscard]] bool is_this_machine(std::string_view authority);

}  // namespace assay
