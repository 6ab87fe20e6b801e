#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "core/files.h"
#include "core/time.h"
#include "door/entrance.h"

namespace assay::door {

/// Carries bytes between people and what they opened, all in one thread, even if some of it is slow
/// or silent. Another thread checks whether they still may. Thread-safe.
class Relays {
 public:
  static constexpr std::size_t kMost = 500;
  static constexpr std::size_t kMaxOfUser = 100;

  /// How often lines are checked and their users' permission is queried. The sum is below the half
  /// minute in which a line ends after its user loses permission.
  struct Pace {
    Nanoseconds look_every = std::chrono::seconds(5);
    Nanoseconds ask_every = std::chrono::seconds(10);
  };

  Relays();
  explicit Relays(const Pace& pace);
  Relays(const Relays&) = delete;
  Relays& operator=(const Relays&) = delete;
  /// Cuts all lines.
  ~Relays();

  /// The owner of a line, and how long it may last.
  struct Terms {
    std::string user{};
    /// Asked every few seconds, in a separate thread, for one line after another: false or an
    /// exception cuts the line. May block for a while.
    std::function<bool()> allowed{};
  };
  /// Whether the user may have another line.
  [[nodiscard]] bool has_room(const std::string& user);

  /// Carries raw bytes both ways, after sending `hello` to the peer.
  void join(UniqueFd peer, Passage passage, Terms terms, std::string hello);
  /// The same with a browser's WebSocket, after `hello`: its messages carry the bytes.
  void join_websocket(UniqueFd peer, Passage passage, Terms terms, std::string hello);

  struct Request {
    std::string method{};
    std::string bytes{};     ///< in the application's form
    bool websocket = false;  ///< it requests one
    bool knows_chunks = true;
    /// Makes a complete response that replaces the application's.
    std::function<std::string(int status, const std::string& words)> refuse{};
  };
  /// Relays one request to an application, and its answer.
  void exchange(UniqueFd peer, Passage passage, Terms terms, Request request);

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace assay::door
