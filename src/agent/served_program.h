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

/// Bytes that may be on the way in one direction of a conversation within a round: who sends waits
/// until they were taken, so that nothing piles up in an agent or in the controller.
inline constexpr std::size_t kRelayWindow = 256U << 10;
inline constexpr std::size_t kRelayPiece = 16U << 10;

// Kinds of frames besides those of entry/frame.h, in Relay messages alone.

/// As many bytes (a number, as text) were taken by who gets them.
inline constexpr auto kTaken = static_cast<entry::FrameKind>('k');
/// Who called is gone.
inline constexpr auto kHangUp = static_cast<entry::FrameKind>('h');

/// A program that runs on this node because one on another node said `ssh`. Speaks in frames; the
/// last one that it says is `exit`.
class ServedProgram : public std::enable_shared_from_this<ServedProgram> {
 public:
  using Say = std::function<void(entry::FrameKind kind, std::string_view content)>;

  /// Starts it; its streams of `options` are replaced by pipes. Throws Error. Call listen() then.
  ServedProgram(asio::io_context& loop, SpawnOptions options, Say say);

  void listen();
  /// What the caller says: input, end_of_input, kTaken, kHangUp.
  void take(entry::FrameKind kind, std::string_view content);
  /// Must be called after SIGCHLD. True once: it has ended, and everything is said.
  [[nodiscard]] bool reap();
  /// Nothing is said or taken any more.
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
  // False at its end, or when nothing is there.
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
