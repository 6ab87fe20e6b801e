#pragma once

// For the files of Relays. Everything here lives in their loop, but what says otherwise.

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

/// One connection between a peer and something inside a job.
struct Line {
  Line(asio::io_context& loop, UniqueFd of_peer, Passage with, Relays::Terms under);
  void cut();

  Descriptor peer;
  Descriptor inside;
  asio::steady_timer timer;
  std::shared_ptr<void> agent;
  Relays::Terms terms;
  std::shared_ptr<void> counted;
  std::int64_t head_by_ns = 0;            // an application has to have answered; 0: it has
  std::int64_t writing_since_ns = 0;      // to the peer; 0: nothing is being written
  std::int64_t asked_ns = mono_now_ns();  // or, once it was asked for, when that was answered
  bool asking = false;
  bool too_late = false;
};
using Held = std::shared_ptr<Line>;

/// Whether all was written.
Task<bool> write_to(Held line, Descriptor& to, std::string_view bytes);
/// How many bytes; nothing at its end. The buffer grows where much comes.
Task<std::size_t> read_from(Descriptor& from, std::vector<char>& buffer);
/// Asks whether a line's user may still have it, not in the loop, which carries everybody's bytes.
/// Thread-safe. Ends before the loop does.
class Asker {
 public:
  explicit Asker(asio::io_context& loop) : loop_(loop) {}
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;
  /// Waits for the answer that is under way; the others are not asked for.
  ~Asker();

  /// Cuts the line, in the loop, where they may not. From the loop.
  void ask(Held line);

 private:
  asio::io_context& loop_;
  asio::thread_pool thread_{1};
};

/// Looks after a line: what takes too long, and who may no longer.
Task<> look_after(Held line, Asker& asker, Relays::Pace pace);
/// Bytes as they are, from the peer and to it. The end of carry_out() cuts the line.
Task<> carry_in(Held line);
Task<> carry_out(Held line);

/// Lets a task of a line run on its own. One that fails (there is no memory for it) cuts the line.
void begin(asio::io_context& loop, Held line, Task<> task);

}  // namespace assay::door
