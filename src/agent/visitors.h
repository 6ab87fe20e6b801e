#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <asio/io_context.hpp>

#include "agent/messages.h"
#include "agent/served_program.h"

namespace assay::agent {

using SendRelay = std::function<void(const Relay& relay)>;

/// A relay that carries `content` to (or, with `back`, from) a program of a conversation.
[[nodiscard]] Relay relay_of(const std::string& round, int peer, std::uint64_t channel, bool back,
                             entry::FrameKind kind, std::string_view content);
/// The content of a relay; nothing when it is malformed.
[[nodiscard]] std::optional<std::string> content_of(const Relay& relay);

/// The answer to the caller of a relay when nobody is left here to give one.
[[nodiscard]] Relay answer_of_nobody(const Relay& relay);

/// Programs that run on this node because programs of other nodes called `ssh` (agent/ssh_relay.h).
/// They receive their input as relays, and their output goes back as relays.
class Visitors {
 public:
  virtual ~Visitors() = default;
  /// Handles a caller's message: a command, which starts a program, or input for that program.
  virtual void receive(const Relay& relay) = 0;
  /// Must be called after SIGCHLD.
  virtual void children_changed() = 0;
  /// Whether a program is running here for somebody.
  [[nodiscard]] virtual bool busy() const noexcept = 0;
  /// How many programs were started so far.
  [[nodiscard]] virtual int started() const noexcept = 0;
  virtual void signal(int number) const = 0;
  /// Tells the callers of programs that still run here that there will be no more answers.
  virtual void turn_callers_away() const = 0;
  /// Called when no more come. Returns true when nothing is left here, false to look again.
  [[nodiscard]] virtual bool finish() { return true; }
  /// Whether there is, or was, a container to remove in the end.
  [[nodiscard]] virtual bool used_container() const noexcept { return false; }
};

/// Visitors that run directly below this process.
class NodeVisitors : public Visitors {
 public:
  /// `program` is how a command runs; its argv are set for each.
  NodeVisitors(asio::io_context& loop, std::string round, SpawnOptions program, SendRelay answer);
  ~NodeVisitors() override;

  void receive(const Relay& relay) override;
  void children_changed() override;
  [[nodiscard]] bool busy() const noexcept override { return !served_.empty(); }
  [[nodiscard]] int started() const noexcept override { return started_; }
  void signal(int number) const override;
  void turn_callers_away() const override;

 private:
  void serve(const Relay& relay, const std::string& content);

  asio::io_context& loop_;
  std::string round_;
  SpawnOptions program_;
  SendRelay answer_;
  std::map<std::pair<int, std::uint64_t>, std::shared_ptr<ServedProgram>> served_;
  int started_ = 0;
};

/// `assay-agent --visitors`, the first process of a container: NodeVisitors in it, with relays as
/// lines of the agent's protocol on stdin and stdout. When its stdin ends, so does everything.
[[nodiscard]] int host_visitors();

}  // namespace assay::agent
