#include "agent/connectivity.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace assay::agent {

namespace {

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address any_address(int family, int port) {
  Address out;
  if (family == AF_INET6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_any;
    address.sin6_port = htons(static_cast<std::uint16_t>(port));
    std::memcpy(&out.storage, &address, out.length = sizeof address);
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    std::memcpy(&out.storage, &address, out.length = sizeof address);
  }
  return out;
}

/// Returns an empty address if the text is not a numeric one.
Address peer_address(const Peer& peer) {
  Address out;
  sockaddr_in four{};
  if (::inet_pton(AF_INET, peer.address.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(static_cast<std::uint16_t>(peer.port));
    std::memcpy(&out.storage, &four, out.length = sizeof four);
    return out;
  }
  sockaddr_in6 six{};
  if (::inet_pton(AF_INET6, peer.address.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<std::uint16_t>(peer.port));
    std::memcpy(&out.storage, &six, out.length = sizeof six);
  }
  return out;
}

std::string error_text(int error) {
  if (error == ECONNREFUSED) return "refused";
  if (error == ETIMEDOUT) return "timed out";
  return std::generic_category().message(error);
}

/// A connection that is made, is being made ("timed out" until then), or has failed.
Connection begin_connection(const Peer& peer) {
  const Address to = peer_address(peer);
  if (to.length == 0) return {UniqueFd(), "'" + peer.address + "' is not an address"};
  Connection out{
      UniqueFd(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), {}};
  if (!out.socket) return {UniqueFd(), error_text(errno)};
  if (::connect(out.socket.get(), to.get(), to.length) == 0) return out;
  if (errno != EINPROGRESS) return {UniqueFd(), error_text(errno)};
  out.problem = "timed out";
  return out;
}

/// The result of a connection that was being made.
std::string outcome(int socket) {
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
  return error == 0 ? "" : error_text(error);
}

int try_to_listen(int family, int port, Listening& out) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  const int on = 1;
  const int off = 0;
  // As in frameworks: closing connections of an earlier job do not matter.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const Address any = any_address(family, port);
  if (::bind(fd.get(), any.get(), any.length) != 0 || ::listen(fd.get(), SOMAXCONN) != 0)
    return errno;
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) return errno;
  // Both kinds of address have the port in the same place.
  sockaddr_in as_four{};
  std::memcpy(&as_four, &bound, sizeof as_four);
  out.port = ntohs(as_four.sin_port);
  out.socket = std::move(fd);
  return 0;
}

}  // namespace

Listening listen_on(int port) {
  Listening out;
  int error = try_to_listen(AF_INET6, port, out);
  // A machine without IPv6 has only IPv4.
  if (error == EAFNOSUPPORT || error == EADDRNOTAVAIL) error = try_to_listen(AF_INET, port, out);
  if (error != 0) out.problem = error_text(error);
  return out;
}

std::vector<Reached> connect_to(const std::vector<Peer>& peers, Nanoseconds limit) {
  std::vector<Reached> results;
  std::vector<UniqueFd> sockets;
  std::vector<pollfd> waiting;
  for (const Peer& peer : peers) {
    Connection begun = begin_connection(peer);
    const bool pending = begun.socket && !begun.problem.empty();
    waiting.push_back({pending ? begun.socket.get() : -1, POLLOUT, 0});
    sockets.push_back(std::move(begun.socket));
    results.push_back({peer.node, std::move(begun.problem)});
  }
  const std::int64_t deadline = mono_now_ns() + limit.count();
  const auto open = [&] {
    return std::ranges::any_of(waiting, [](const pollfd& entry) { return entry.fd >= 0; });
  };
  while (open()) {
    const std::int64_t left = deadline - mono_now_ns();
    if (left <= 0) break;
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(left / 1'000'000) + 1) < 0 &&
        errno != EINTR)
      break;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
      results[i].problem = outcome(waiting[i].fd);
      waiting[i].fd = -1;
    }
  }
  return results;
}

Connection connect_one(const std::string& address, int port, Nanoseconds limit) {
  Connection out = begin_connection({0, address, port});
  if (out.problem.empty() || !out.socket) return out;
  const std::int64_t deadline = mono_now_ns() + limit.count();
  pollfd waiting{out.socket.get(), POLLOUT, 0};
  for (std::int64_t left = 0; (left = deadline - mono_now_ns()) > 0;) {
    const int ready = ::poll(&waiting, 1, static_cast<int>(left / 1'000'000) + 1);
    if (ready < 0 && errno != EINTR) break;
    if (ready <= 0) continue;
    out.problem = outcome(out.socket.get());
    break;
  }
  return out;
}

}  // namespace assay::agent
