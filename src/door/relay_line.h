#pragma once

// Internal to Relays. Everything here belongs to their loop, unless noted.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>

#include "core/time.h"
#include "door/relays.h"

namespace assay::door {

using Descriptor = asio::posix::stream_descriptor;
template <class T = void>
using Task = asio::awaitable<T>;

inline constexpr std::size_t kSmallPiece = 64U << 10;
inline constexpr std::size_t kLargePiece = 512U << 10;

/// A connection between a peer and something inside a job.
struct Line {
  Line(asio::io_context& loop, UniqueFd of_peer, Passage with, Relays::Terms under);
  void cut();

  Descriptor peer;
  Descriptor inside;
  asio::steady_timer timer;
  std::shared_ptr<void> agent;
  Relays::Terms terms;
  std::shared_ptr<void> counted;
  std::int64_t head_by_ns = 0;            // deadline of an application's answer; 0: answered
  std::int64_t writing_since_ns = 0;      // to the peer; 0: no write is in progress
  std::int64_t asked_ns = mono_now_ns();  // of the last answered question, initially the start
  bool asking = false;
  bool too_late = false;
};
using Held = std::shared_ptr<Line>;

/// Returns whether everything was written.
Task<bool> write_to(Held line, Descriptor& to, std::string_view bytes);
/// Returns the number of bytes; 0 at the end. Enlarges the buffer if much arrives.
Task<std::size_t> read_from(Descriptor& from, std::vector<char>& buffer);
/// Asks whether a line's user may still have it, outside the loop that carries everybody's bytes.
/// Thread-safe. Must end before the loop does.
class Asker {
 public:
  explicit Asker(asio::io_context& loop) : loop_(loop) {}
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;
  /// Waits for the answer in progress; the remaining questions are dropped.
  ~Asker();

  /// Cuts the line, in the loop, if its user may not have it. Called in the loop.
  void ask(Held line);

 private:
  asio::io_context& loop_;
  asio::thread_pool thread_{1};
};

/// Watches a line for time limits and for its user's permission.
Task<> look_after(Held line, Asker& asker, Relays::Pace pace);
/// Carry raw bytes from and to the peer. The end of carry_out() cuts the line.
Task<> carry_in(Held line);
Task<> carry_out(Held line);

/// Runs a task of a line on its own. If it fails (out of memory), the line is cut.
void begin(asio::io_context& loop, Held line, Task<> task);

}  // namespace assay::door
