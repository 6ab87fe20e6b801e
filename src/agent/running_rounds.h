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

/// Lets the rounds on this machine know of each other. While this object lives, its round listens
/// on a socket whose abstract name holds the run's id, and is connected to every other such socket.
/// This needs no disk and no permission, and leaves nothing over, because the kernel closes the
/// sockets with their process. The kernel also vouches for who is at the other end, and until when.
/// Limited to this network namespace.
class RunningRounds {
 public:
  /// Listens and connects to the others. Never throws: if it cannot listen, finish() returns
  /// nothing.
  RunningRounds(asio::io_context& loop, const std::string& run);
  ~RunningRounds();
  RunningRounds(const RunningRounds&) = delete;
  RunningRounds& operator=(const RunningRounds&) = delete;

  /// The other runs that it met, and for how long until now.
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
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for queued handlers
};

/// The run id in a listening socket's line of /proc/net/unix; nothing for any other socket.
[[nodiscard]] std::optional<std::string> round_of_socket(std::string_view line);

}  // namespace assay::agent
