#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/time.h"
#include "serve/http_server.h"

namespace assay::rest {

/// Streams that follow something which has to be asked: one thread asks for all of them, about
/// every `pause`, and at once where there was much. Thread-safe.
class Follower {
 public:
  /// What is new, at most about `room` bytes; nothing: it is over, and the stream ends. Called in
  /// the follower's thread; what it throws ends the stream.
  using Next = std::function<std::optional<std::string>(std::size_t room)>;

  explicit Follower(Nanoseconds pause = std::chrono::milliseconds(500));
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  ~Follower();

  void add(const std::shared_ptr<serve::HttpStream>& stream, Next next);

 private:
  struct Followed {
    std::shared_ptr<serve::HttpStream> stream;
    Next next;
    std::int64_t due_ns = 0;  // when it is asked again
  };
  void work(const std::stop_token& stop);
  [[nodiscard]] bool go_on(Followed& one) const;

  Nanoseconds pause_;
  std::mutex lock_;
  std::condition_variable_any changed_;
  std::vector<Followed> fresh_;  // not taken up by the thread yet
  std::jthread thread_;
};

}  // namespace assay::rest
