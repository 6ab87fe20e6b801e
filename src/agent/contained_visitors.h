#pragma once

#include <array>
#include <deque>
#include <set>

#include <asio/posix/stream_descriptor.hpp>

#include "agent/protocol.h"
#include "agent/visitors.h"

namespace assay::agent {

/// Visitors in a container, which starts with the first one and stays until finish(), so that files
/// which one leaves behind are there for the next.
class ContainedVisitors : public Visitors {
 public:
  /// `container` is the command that runs host_visitors() in the container.
  ContainedVisitors(asio::io_context& loop, std::string round, SpawnOptions container,
                    SendRelay answer);

  void receive(const Relay& relay) override;
  void children_changed() override;
  [[nodiscard]] bool busy() const noexcept override { return !open_.empty(); }
  [[nodiscard]] int started() const noexcept override { return started_; }
  void signal(int number) const override;
  void turn_callers_away() const override;
  [[nodiscard]] bool finish() override;
  [[nodiscard]] bool used_container() const noexcept override { return child_.pid() > 0; }

 private:
  using Pipe = asio::posix::stream_descriptor;
  using Channel = std::pair<int, std::uint64_t>;

  void start();
  void hear(Pipe& pipe);
  void heard(const Json& message);
  void write();
  void ended();

  asio::io_context& loop_;
  std::string round_;
  SpawnOptions container_;
  SendRelay answer_;
  Child child_;
  Pipe input_;
  Pipe output_;
  Pipe error_;
  Encoder encoder_;
  Decoder decoder_;
  std::array<char, kRelayPiece> out_bytes_{};
  std::array<char, kRelayPiece> err_bytes_{};
  std::deque<std::string> outbox_;
  std::string last_words_;  // the runtime's
  std::set<Channel> open_;
  int started_ = 0;
  std::int64_t leave_by_ns_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for queued handlers
};

}  // namespace assay::agent
