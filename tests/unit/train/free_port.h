#pragma once

#include <stdexcept>
#include <string>

#include <arpa/inet.h>
#include <sys/socket.h>

#include "core/files.h"

namespace assay::train {

/// A port of the loopback interface that nobody listens on.
inline std::string free_port() {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no free port");
  return std::to_string(ntohs(address.sin_port));
}

}  // namespace assay::train
