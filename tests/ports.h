#pragma once

// Ports for programs that must be told one and cannot be asked which they got: sshd, Slurm, the
// rendezvous of ranks.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <stdexcept>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/files.h"

namespace assay::testing {

/// Ports in a row that nobody listens on, nobody else's test gets while this lives, and the kernel
/// gives to no connection: they lie below its range. What reserves them is the name of an abstract
/// socket, which ends with this process at the latest.
class ReservedPorts {
 public:
  explicit ReservedPorts(int count = 1) {
    constexpr int kFirst = 12'000;
    constexpr int kBlock = 8;
    constexpr int kBlocks = 2'500;
    if (count > kBlock) throw std::invalid_argument("at most 8 ports in a row");
    for (int tried = 0; tried < kBlocks; ++tried) {
      first_ = kFirst + (static_cast<int>(::getpid()) + tried) % kBlocks * kBlock;
      if (reserve() && all_free(count)) return;
    }
    throw std::runtime_error("no free port");
  }

  [[nodiscard]] int first() const noexcept { return first_; }

 private:
  bool reserve() {
    name_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "assay-test-ports-" + std::to_string(first_);
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return ::bind(name_.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0;
  }

  [[nodiscard]] bool all_free(int count) const {
    for (int port = first_; port < first_ + count; ++port) {
      const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const int yes = 1;  // as servers do: what waits in TIME_WAIT is in nobody's way
      ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(static_cast<std::uint16_t>(port));
      if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return false;
    }
    return true;
  }

  int first_ = 0;
  UniqueFd name_;
};

/// One that stays reserved until this process ends.
inline int reserved_port() {
  static std::list<ReservedPorts> kept;
  return kept.emplace_back().first();
}

}  // namespace assay::testing
