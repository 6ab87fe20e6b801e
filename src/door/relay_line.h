#pragma once

// For the files of Relays. Everything here lives in their loop.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

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
  std::int64_t head_by_ns = 0;        // an application has to have answered; 0: it has
  std::int64_t writing_since_ns = 0;  // to the peer; 0: nothing is being written
  std::int64_t asked_ns = mono_now_ns();
  bool too_late = false;
};
using Held = std::shared_ptr<Line>;

/// Whether all was written.
Task<bool> write_to(Held line, Descriptor& to, std::string_view bytes);
/// How many bytes; nothing at its end. The buffer grows where much comes.
Task<std::size_t> read_from(Descriptor& from, std::vector<char>& buffer);
/// Looks after a line: what takes too long, and who may no longer.
Task<> look_after(Held line);
/// Bytes as they are, from the peer and to it. The end of carry_out() cuts the line.
Task<> carry_in(Held line);
Task<> carry_out(Held line);

/// Lets a task run on its own.
void begin(asio::io_context& loop, Task<> task);

}  // namespace assay::door
