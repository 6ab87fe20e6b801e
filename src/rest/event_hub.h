#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jobs/permissions.h"
#include "platform/platform.h"
#include "serve/http_server.h"

namespace assay::rest {

/// Sends what happens to jobs to everybody who listens. Thread-safe; never waits.
class EventHub {
 public:
  /// Who listens, as they were when they came: OpenStreams ends the stream of who is another by now
  /// or may no more, and the browser comes back with what is true then. After an hour it ends
  /// anyway.
  struct Listener {
    std::string name{};
    jobs::Role role = jobs::Role::viewer;
    std::vector<std::string> teams{};
  };

  /// `after`: the number of the last event that the listener has; 0: none.
  void add(const Listener& listener, const std::shared_ptr<serve::HttpStream>& stream,
           std::int64_t after);
  void publish(const platform::JobEvent& event);
  [[nodiscard]] std::size_t size();

 private:
  struct Open {
    Listener listener;
    std::shared_ptr<serve::HttpStream> stream;
    std::int64_t since_ns = 0;
  };
  struct Kept {
    std::int64_t number = 0;
    platform::JobEvent event{};
  };

  std::mutex lock_;
  std::vector<Open> open_;
  std::deque<Kept> kept_;
  std::int64_t last_ = 0;
};

}  // namespace assay::rest
