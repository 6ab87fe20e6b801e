#include "rest/follower.h"

#include <exception>

#include <fmt/format.h>

#include "serve/log.h"

namespace assay::rest {

namespace {

// A stream whose reader is slow waits for room instead of being let go.
constexpr std::size_t kLeastRoom = serve::kStreamBuffer / 4;
// What gave so much has probably more: a whole log that is downloaded.
constexpr std::size_t kMuch = 16U << 10;
constexpr std::chrono::milliseconds kSoon{5};

}  // namespace

Follower::Follower(Nanoseconds pause) : pause_(pause) {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

Follower::~Follower() {
  thread_.request_stop();
  changed_.notify_all();
}

void Follower::add(const std::shared_ptr<serve::HttpStream>& stream, Next next) {
  const std::scoped_lock lock(lock_);
  fresh_.push_back({stream, std::move(next)});
  changed_.notify_all();
}

Follower::Went Follower::go_on(Followed& one) {
  if (one.stream->gone()) return Went::over;
  const std::size_t room = one.stream->room();
  if (room < kLeastRoom) return Went::idle;
  try {
    const std::optional<std::string> text = one.next(room / 2);
    if (text && text->empty()) return Went::idle;
    if (text && one.stream->write(*text)) return text->size() > kMuch ? Went::busy : Went::idle;
  } catch (const std::exception& error) {
    serve::log_error(fmt::format("a stream ends: {}", error.what()));
  }
  one.stream->end();
  return Went::over;
}

void Follower::work(const std::stop_token& stop) {
  std::vector<Followed> all;
  bool busy = false;
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(lock_);
      if (all.empty())
        changed_.wait(lock, stop, [&] { return !fresh_.empty(); });
      else
        changed_.wait_for(lock, stop, busy ? Nanoseconds(kSoon) : pause_,
                          [&] { return !fresh_.empty(); });
      for (Followed& one : fresh_) all.push_back(std::move(one));
      fresh_.clear();
    }
    if (stop.stop_requested()) return;
    busy = false;
    std::erase_if(all, [&](Followed& one) {
      const Went went = go_on(one);
      busy = busy || went == Went::busy;
      return went == Went::over;
    });
  }
}

}  // namespace assay::rest
