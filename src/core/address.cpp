#include "core/address.h"

#include <arpa/inet.h>

namespace assay {

bool is_ip_address(const std::string& text) noexcept {
  // inet_pton reads a C string: what follows a NUL would be ignored.
  if (text.find('\0') != std::string::npos) return false;
  in6_addr buffer{};
  return ::inet_pton(AF_INET, text.c_str(), &buffer) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &buffer) == 1;
}

}  // namespace assay
