#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <sys/types.h>

#include "agent/protocol.h"
#include "core/files.h"
#include "core/process.h"
#include "launch/agents/launcher.h"

namespace assay::launch {

/// A running channel command: messages to and from the agents behind it. Ending it (or this
/// process) closes the agents' input, which makes them stop their ranks and end.
class Channel : public std::enable_shared_from_this<Channel> {
 public:
  struct Handlers {
    std::function<void(int node, const Json& message)> message;
    /// Called once, when no message can come any more; `reason` is how the command ended.
    std::function<void(const std::string& reason)> closed;
  };

  /// Starts the command in a session of its own, so that a terminal's Ctrl-C reaches only the
  /// controller. Throws Error of kind launch. Handlers are called from the loop until the channel
  /// is closed or silenced.
  static std::shared_ptr<Channel> open(asio::io_context& loop, ChannelCommand command,
                                       Handlers handlers);
  ~Channel();  ///< ends the command if it still runs, and waits for that
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void send(int node, const Json& message);
  /// Closes the agents' input once everything sent is written.
  void close_input();
  /// Ends the command: asks first where it has something to give back, and kills it when that takes
  /// long. Resumes when it is gone; the loop goes on meanwhile. The channel must live until then.
  asio::awaitable<void> kill();
  /// No handler is called any more.
  void silence();
  [[nodiscard]] bool is_open() const noexcept { return !closed_; }
  /// Of the bundle that is being sent: how far it is there, all of it, and how much was there
  /// before; all 0 as long as nobody asked for it.
  struct Upload {
    std::uint64_t sent = 0;
    std::uint64_t size = 0;
    std::uint64_t from = 0;
    std::int64_t begun_ns = 0;  ///< on the monotonic clock
    std::int64_t moved_ns = 0;  ///< when the last bytes went
    /// Bytes a second so far; 0: none went.
    [[nodiscard]] double rate() const noexcept {
      return moved_ns > begun_ns
                 ? static_cast<double>(sent - from) * 1e9 / static_cast<double>(moved_ns - begun_ns)
                 : 0;
    }
  };
  [[nodiscard]] const Upload& upload() const noexcept { return sent_; }
  [[nodiscard]] const ChannelCommand& command() const noexcept { return command_; }

 private:
  Channel(asio::io_context& loop, ChannelCommand command, Handlers handlers);
  void start();
  void read_messages();
  void read_errors();
  void keep_errors(std::size_t n);
  void drain_errors();
  void on_noise(std::string_view line);
  void begin_upload(std::uint64_t from);
  void upload_next();
  void flush();
  void end(const std::string& how);
  asio::awaitable<void> finish(std::string reason);
  bool collect() noexcept;
  asio::awaitable<bool> gone_within(std::chrono::milliseconds limit);

  ChannelCommand command_;
  Handlers handlers_;
  asio::posix::stream_descriptor input_;
  asio::posix::stream_descriptor output_;
  asio::posix::stream_descriptor errors_;
  agent::Encoder encoder_;
  agent::Decoder decoder_;
  std::array<char, 65536> output_buffer_{};
  std::array<char, 4096> error_buffer_{};
  std::string error_tail_;
  std::deque<std::string> outbox_;
  UniqueFd upload_;
  std::vector<char> upload_piece_;
  Upload sent_;
  bool writing_ = false;
  bool close_requested_ = false;
  bool closed_ = false;
  bool silenced_ = false;
  pid_t pid_ = -1;  // until it is collected
  std::optional<ExitStatus> exit_;
};

}  // namespace assay::launch
