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

/// The relay that says `content` to (or, `back`, from) a program of a conversation.
[[nodiscard]] Relay relay_of(const std::string& round, int peer, std::uint64_t channel, bool back,
                             entry::FrameKind kind, std::string_view content);
/// What a relay says; nothing when it is malformed.
[[nodiscard]] std::optional<std::string> content_of(const Relay& relay);

/// What the caller hears of a relay when nobody is left here who could answer it.
[[nodiscard]] Relay answer_of_nobody(const Relay& relay);

/// Programs that run on this node because programs of other nodes said `ssh` (agent/ssh_relay.h):
/// what they say comes as relays, and what the programs say goes back as such.
class Visitors {
 public:
  virtual ~Visitors() = default;
  /// From a caller: its command, which starts a program, or what it says to that.
  virtual void receive(const Relay& relay) = 0;
  /// Must be called after SIGCHLD.
  virtual void children_changed() = 0;
  /// Whether a program runs here for somebody.
  [[nodiscard]] virtual bool busy() const noexcept = 0;
  /// How many were started so far.
  [[nodiscard]] virtual int started() const noexcept = 0;
  virtual void signal(int number) const = 0;
  /// Tells the callers whose programs still run here that nobody answers any more.
  virtual void turn_callers_away() const = 0;
  /// Nobody comes any more. True: nothing is left here; false: look again.
  [[nodiscard]] virtual bool finish() { return true; }
  /// Whether there is, or was, something that has to be removed in the end.
  [[nodiscard]] virtual bool used_container() const noexcept { return false; }
};

/// Below this process.
class NodeVisitors : public Visitors {
 public:
  /// `program`: how a command is run; its argv are set for each.
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

/// `assay-agent --visitors`, the first process of a container: NodeVisitors within it, relays as
/// lines of the agent's protocol on stdin and stdout. Ends with its stdin, and everything with it.
[[nodiscard]] int host_visitors();

}  // namespace assay::agent
