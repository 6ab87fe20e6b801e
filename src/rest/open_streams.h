#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/time.h"
#include "serve/http_server.h"

namespace assay::rest {

/// The streams that are open, and what each was let in by. One thread asks for all of them, again
/// and again, whether that still holds, and ends those where it does not. Thread-safe.
class OpenStreams {
 public:
  /// Nobody takes all the streams that the server has (serve::ConnectionLimits::streams).
  static constexpr std::size_t kMaxOfPerson = 32;

  /// Whether what let a stream in still does. Called in the thread of this object; what it throws
  /// ends the stream, because what cannot be asked is not allowed.
  using Holds = std::function<bool()>;
  /// One of somebody's streams, until it is let go.
  using Place = std::shared_ptr<void>;

  explicit OpenStreams(Nanoseconds every = std::chrono::seconds(10));
  OpenStreams(const OpenStreams&) = delete;
  OpenStreams& operator=(const OpenStreams&) = delete;
  ~OpenStreams();

  /// Throws Refusal 429 where the person has as many as one may have.
  [[nodiscard]] Place take_place(const std::string& person);
  void add(std::shared_ptr<serve::HttpStream> stream, Place place, Holds holds);
  /// Something was taken away from somebody: asks now. Does not wait for it.
  void ask_now();
  [[nodiscard]] std::size_t size();

 private:
  struct Open {
    std::shared_ptr<serve::HttpStream> stream;
    Place place;
    Holds holds;
  };
  /// On its own, because a place may be let go after this object.
  struct Counts {
    std::mutex lock;
    std::map<std::string, std::size_t> of_person;
  };
  void work(const std::stop_token& stop);
  void ask();
  void forget_gone();

  const Nanoseconds every_;
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  std::mutex lock_;
  std::condition_variable_any changed_;
  std::vector<std::shared_ptr<Open>> open_;
  bool asked_ = false;
  std::jthread thread_;
};

}  // namespace assay::rest
