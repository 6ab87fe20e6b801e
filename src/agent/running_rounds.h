#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>

#include "telemetry/machine_use.h"

namespace assay::agent {

/// The rounds that run on this machine know of each other: while this object lives, its round
/// listens on a socket with an abstract name that holds the run's id, and is connected to every
/// other such socket. Nothing is on a disk, nothing needs a permission, and what the kernel closes
/// with a process cannot be left over. Who is at the other end, and until when, is the kernel's
/// word too. Sees as far as this network namespace.
class RunningRounds {
 public:
  /// Listens, and connects to the others. Never throws: where it cannot listen, finish() gives
  /// nothing.
  RunningRounds(asio::io_context& loop, const std::string& run);
  ~RunningRounds();
  RunningRounds(const RunningRounds&) = delete;
  RunningRounds& operator=(const RunningRounds&) = delete;

  /// The runs other than this one that were met, and for how long until now.
  [[nodiscard]] std::optional<std::vector<telemetry::MachineUse::OtherRun>> finish(
      std::int64_t mono_ns) const;

 private:
  using Protocol = asio::local::stream_protocol;
  struct Peer;

  void accept();
  void connect_to_others();
  void hear(const std::shared_ptr<Peer>& peer);
  void meet(const std::shared_ptr<Peer>& peer, std::string run);

  asio::io_context& loop_;
  std::string run_;
  Protocol::acceptor acceptor_;
  std::list<std::shared_ptr<Peer>> peers_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for handlers that are queued
};

/// The run id in a listening socket's line of /proc/net/unix; nothing for all other sockets.
[[nodiscard]] std::optional<std::string> round_of_socket(std::string_view line);

}  // namespace assay::agent
