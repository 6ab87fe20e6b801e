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

/// Carries bytes between people and what they have opened: all of it in one thread, whatever is
/// slow or silent. Whether they still may is asked in another. Thread-safe.
class Relays {
 public:
  static constexpr std::size_t kMost = 500;
  static constexpr std::size_t kMaxOfUser = 100;

  /// How often lines are looked after, and who uses them is asked for. Together they are less than
  /// the half minute in which a line ends whose user may no more.
  struct Pace {
    Nanoseconds look_every = std::chrono::seconds(5);
    Nanoseconds ask_every = std::chrono::seconds(10);
  };

  Relays();
  explicit Relays(const Pace& pace);
  Relays(const Relays&) = delete;
  Relays& operator=(const Relays&) = delete;
  /// Cuts everything.
  ~Relays();

  /// Whose it is, and until when.
  struct Terms {
    std::string user{};
    /// Asked every few seconds, in a thread that does nothing else and asks for one line after
    /// another: false, or what it throws, cuts the line. May block for a while.
    std::function<bool()> allowed{};
  };
  /// Whether somebody may have one more.
  [[nodiscard]] bool has_room(const std::string& user);

  /// Bytes as they are, both ways, after `hello` to the peer.
  void join(UniqueFd peer, Passage passage, Terms terms, std::string hello);
  /// The same with a browser's WebSocket, after `hello`: its messages are the bytes.
  void join_websocket(UniqueFd peer, Passage passage, Terms terms, std::string hello);

  struct Request {
    std::string method{};
    std::string bytes{};     ///< as the application gets it
    bool websocket = false;  ///< it asks for one
    bool knows_chunks = true;
    /// A whole answer instead of the application's.
    std::function<std::string(int status, const std::string& words)> refuse{};
  };
  /// One request to an application, and its answer.
  void exchange(UniqueFd peer, Passage passage, Terms terms, Request request);

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace assay::door
