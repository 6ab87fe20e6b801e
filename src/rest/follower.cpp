#include "rest/follower.h"

#include <exception>

#include <fmt/format.h>

#include "serve/log.h"

namespace assay::rest {

namespace {

// A stream whose reader is slow waits for room instead of being let go.
constexpr std::size_t kLeastRoom = serve::kStreamBuffer / 4;

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

bool Follower::go_on(Followed& one) {
  if (one.stream->gone()) return false;
  const std::size_t room = one.stream->room();
  if (room < kLeastRoom) return true;
  try {
    const std::optional<std::string> text = one.next(room / 2);
    if (text && text->empty()) return true;
    if (text && one.stream->write(*text)) return true;
  } catch (const std::exception& error) {
    serve::log_error(fmt::format("a stream ends: {}", error.what()));
  }
  one.stream->end();
  return false;
}

void Follower::work(const std::stop_token& stop) {
  std::vector<Followed> all;
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(lock_);
      if (all.empty())
        changed_.wait(lock, stop, [&] { return !fresh_.empty(); });
      else
        changed_.wait_for(lock, stop, pause_, [&] { return !fresh_.empty(); });
      for (Followed& one : fresh_) all.push_back(std::move(one));
      fresh_.clear();
    }
    if (stop.stop_requested()) return;
    std::erase_if(all, [](Followed& one) { return !go_on(one); });
  }
}

}  // namespace assay::rest
