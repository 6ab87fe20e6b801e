#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>

#include "agent/messages.h"
#include "agent/served_program.h"

namespace assay::agent {

/// `ssh` from one node of a round to another. A program of the round finds an `ssh` first in its
/// PATH (entry/round_ssh.h), which speaks to this object over a socket that only the round's user
/// can open; what it says goes to the other node's agent as Relay messages over the controller.
/// That agent runs the command below itself, so that it is watched, sampled and ended with the
/// round as what the round's ranks start.
class RoundSsh {
 public:
  struct Setup {
    int node = 0;
    std::string round{};
    RoundSshRequest request{};
    /// How a command is run here for another node; its argv are set for each.
    SpawnOptions program{};
  };
  using Send = std::function<void(const Relay& relay)>;

  /// Makes the folder and listens. Throws Error of kind environment.
  RoundSsh(asio::io_context& loop, Setup setup, Send send);
  ~RoundSsh();
  RoundSsh(const RoundSsh&) = delete;
  RoundSsh& operator=(const RoundSsh&) = delete;

  /// What the controller passed on.
  void receive(const Relay& relay);
  /// Must be called after SIGCHLD.
  void children_changed();
  /// Whether a program runs here for somebody.
  [[nodiscard]] bool busy() const noexcept { return !served_.empty(); }
  /// How many were started here so far.
  [[nodiscard]] int started() const noexcept { return started_; }
  void signal(int number) const;

 private:
  using Protocol = asio::local::stream_protocol;
  class Caller;

  void make_folder();
  void accept();
  void serve(const Relay& relay);
  void answer(const Relay& to, entry::FrameKind kind, std::string_view content);
  void pass_on(Relay relay);

  asio::io_context& loop_;
  Setup setup_;
  Send send_;
  Protocol::acceptor acceptor_;
  std::map<std::uint64_t, std::shared_ptr<Caller>> callers_;
  std::map<std::pair<int, std::uint64_t>, std::shared_ptr<ServedProgram>> served_;
  std::uint64_t next_channel_ = 1;
  int started_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for handlers that are queued
};

}  // namespace assay::agent
