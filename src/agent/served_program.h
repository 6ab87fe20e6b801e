#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include "core/process.h"
#include "entry/frame.h"

namespace assay::agent {

/// Bytes that may be in flight in one direction of a conversation within a round: the sender waits
/// until they are taken, so that nothing piles up in an agent or in the controller.
inline constexpr std::size_t kRelayWindow = 256U << 10;
inline constexpr std::size_t kRelayPiece = 16U << 10;

// Kinds of frames besides those of entry/frame.h, used only in Relay messages.

/// The receiver has taken this many bytes (a number, as text).
inline constexpr auto kTaken = static_cast<entry::FrameKind>('k');
/// The caller is gone.
inline constexpr auto kHangUp = static_cast<entry::FrameKind>('h');

/// A program that runs on this node because one on another node called `ssh`. Speaks in frames; the
/// last one that it sends is `exit`.
class ServedProgram : public std::enable_shared_from_this<ServedProgram> {
 public:
  using Say = std::function<void(entry::FrameKind kind, std::string_view content)>;

  /// Starts it, with pipes in place of the streams of `options`. Throws Error. Call listen() next.
  ServedProgram(asio::io_context& loop, SpawnOptions options, Say say);

  void listen();
  /// Handles a frame from the caller: input, end_of_input, kTaken, kHangUp.
  void take(entry::FrameKind kind, std::string_view content);
  /// Must be called after SIGCHLD. Returns true once, when it has ended and sent everything.
  [[nodiscard]] bool reap();
  /// Stops sending and receiving.
  void close();
  void signal(int number) const { child_.signal(number); }
  [[nodiscard]] bool running() const noexcept { return child_.running(); }

 private:
  struct Output {
    explicit Output(asio::io_context& loop) : pipe(loop) {}
    asio::posix::stream_descriptor pipe;
    entry::FrameKind kind = entry::FrameKind::output;
    bool waits = false;
  };

  void wait_for(Output& output);
  // Returns false at the end of the output or when nothing is available.
  bool forward(Output& output);
  void write_input();
  void hang_up();

  Child child_;
  Say say_;
  asio::posix::stream_descriptor input_;
  Output out_;
  Output err_;
  asio::steady_timer kill_;
  std::string pending_;  // for its input
  bool input_ends_ = false;
  bool writing_ = false;
  std::size_t on_the_way_ = 0;
};

}  // namespace assay::agent
