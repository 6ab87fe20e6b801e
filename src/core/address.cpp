#include "core/address.h"

#include <arpa/inet.h>

#include "core/parse_number.h"

namespace assay {

bool is_ip_address(const std::string& text) noexcept {
  // inet_pton reads a C string and would ignore anything after a NUL.
  if (text.find('\0') != std::string::npos) return false;
  in6_addr buffer{};
  return ::inet_pton(AF_INET, text.c_str(), &buffer) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &buffer) == 1;
}

std::optional<Endpoint> parse_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  Endpoint endpoint{text.substr(0, colon), 0};
  const bool bracketed = endpoint.address.starts_with('[') && endpoint.address.ends_with(']');
  if (bracketed) endpoint.address = endpoint.address.substr(1, endpoint.address.size() - 2);
  // Without brackets the last group of an IPv6 address would be taken for the port.
  if (bracketed != (endpoint.address.find(':') != std::string::npos)) return std::nullopt;
  const auto port = parse_number<int>(std::string_view(text).substr(colon + 1), 0, 65535);
  if (!port || !is_ip_address(endpoint.address)) return std::nullopt;
  endpoint.port = *port;
  return endpoint;
}

bool is_loopback(const std::string& address) noexcept {
  return address == "::1" || (address.starts_with("127.") && is_ip_address(address));
}

bool is_this_machine(std::string_view authority) {
  std::string_view host = authority;
  if (const auto end = host.find(']'); host.starts_with('[') && end != host.npos) {
    if (host.size() > end + 1 && host[end + 1] != ':') return false;
    host = host.substr(1, end - 1);
  } else {
    host = host.substr(0, host.find(':'));
  }
  return host == "localhost" || is_loopback(std::string(host));
}

}  // namespace assay
