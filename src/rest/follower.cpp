#include "rest/follower.h"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "core/time.h"
#include "serve/log.h"

namespace assay::rest {

namespace {

// A stream whose reader is slow waits for room instead of being let go.
constexpr std::size_t kMinRoom = serve::kStreamBuffer / 4;
// What gave so much has probably more: a whole log that is downloaded.
constexpr std::size_t kMuch = 16U << 10;
constexpr std::chrono::milliseconds kSoon{10};

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
  fresh_.push_back({stream, std::move(next), 0});
  changed_.notify_all();
}

// False: it is over.
bool Follower::go_on(Followed& one) const {
  const std::int64_t now_ns = mono_now_ns();
  if (now_ns < one.due_ns) return true;
  if (one.stream->gone()) return false;
  one.due_ns = now_ns + Nanoseconds(kSoon).count();
  const std::size_t room = one.stream->room();
  if (room < kMinRoom) return true;
  try {
    const std::optional<std::string> text = one.next(room / 2);
    if (text && text->size() < kMuch) one.due_ns = now_ns + pause_.count();
    if (text && (text->empty() || one.stream->write(*text))) return true;
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
      const auto is_new = [&] { return !fresh_.empty(); };
      if (all.empty()) {
        changed_.wait(lock, stop, is_new);
      } else {
        const auto due = std::ranges::min_element(all, {}, &Followed::due_ns);
        const std::int64_t wait_ns = std::max<std::int64_t>(0, due->due_ns - mono_now_ns());
        changed_.wait_for(lock, stop, Nanoseconds(wait_ns), is_new);
      }
      for (Followed& one : fresh_) all.push_back(std::move(one));
      fresh_.clear();
    }
    if (stop.stop_requested()) return;
    std::erase_if(all, [&](Followed& one) { return !go_on(one); });
  }
}

}  // namespace assay::rest
