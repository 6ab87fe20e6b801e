#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>

#include "agent/messages.h"
#include "agent/visitors.h"

namespace assay::agent {

/// `ssh` between the nodes of a round. A program of the round finds this `ssh` first in its PATH
/// (entry/round_ssh.h); it talks to this object over a socket that only the round's user can open,
/// and the conversation goes to the other node's agent as Relay messages through the controller.
/// That agent runs the command below itself, or in a container of the case, so that it is watched,
/// sampled and ended with the round like anything its ranks start (agent/visitors.h).
class RoundSsh {
 public:
  struct Setup {
    int node = 0;
    std::string round{};
    RoundSshRequest request{};
    /// How a command runs here for another node; its argv are set for each command, or name the
    /// container for all of them (RoundSshRequest::container).
    SpawnOptions program{};
  };
  using Send = SendRelay;

  /// Creates the folder and listens. Throws Error of kind environment.
  RoundSsh(asio::io_context& loop, Setup setup, Send send);
  ~RoundSsh();
  RoundSsh(const RoundSsh&) = delete;
  RoundSsh& operator=(const RoundSsh&) = delete;

  /// Handles a message that the controller passed on.
  void receive(const Relay& relay);
  /// Must be called after SIGCHLD.
  void children_changed() { visitors_->children_changed(); }
  /// The programs that run here for other nodes.
  [[nodiscard]] Visitors& visitors() const noexcept { return *visitors_; }

 private:
  using Protocol = asio::local::stream_protocol;
  class Caller;

  void make_folder();
  void accept();
  void pass_on(Relay relay);

  asio::io_context& loop_;
  Setup setup_;
  Send send_;
  Protocol::acceptor acceptor_;
  std::map<std::uint64_t, std::shared_ptr<Caller>> callers_;
  std::unique_ptr<Visitors> visitors_;
  std::uint64_t next_channel_ = 1;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for queued handlers
};

}  // namespace assay::agent
