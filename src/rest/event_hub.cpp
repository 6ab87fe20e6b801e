#include "rest/event_hub.h"

#include <algorithm>

#include "core/time.h"
#include "rest/call.h"

namespace assay::rest {

namespace {

constexpr std::size_t kKeptEvents = 1000;
constexpr std::int64_t kStreamTime = Nanoseconds(std::chrono::hours(1)).count();

// Everybody may know that there is such a job; what is said about it is for those who may read it.
std::string event_text(const platform::JobEvent& event, std::int64_t number,
                       const EventHub::Listener& listener) {
  jobs::Whose of = jobs::Whose::foreign;
  if (event.owner == listener.name)
    of = jobs::Whose::own;
  else if (std::ranges::count(listener.teams, event.team) > 0 && !event.team.empty())
    of = jobs::Whose::team;
  Json data = {{"id", event.id},
               {"state", to_text(event.state)},
               {"event", to_text(event.event)},
               {"at", time_json(event.at_ns)},
               {"words", ""},
               {"owner", event.owner},
               {"team", event.team}};
  if (jobs::may(listener.role, jobs::Deed::read_job, of)) data["words"] = event.words;
  return server_sent("job", data, std::to_string(number));
}

}  // namespace

void EventHub::add(const Listener& listener, const std::shared_ptr<serve::HttpStream>& stream,
                   std::int64_t after) {
  const std::scoped_lock lock(lock_);
  if (after > 0) {
    // Who has missed more than is kept is told to ask for everything again.
    const bool all = !kept_.empty() && kept_.front().number <= after + 1;
    if (!all && last_ != after) (void)stream->write(server_sent("missed", Json::object()));
    for (const Kept& one : kept_)
      if (one.number > after) (void)stream->write(event_text(one.event, one.number, listener));
  }
  open_.push_back({listener, stream, mono_now_ns()});
  // Who asked for a job before this may have missed what happened since, and asks again.
  (void)stream->write(server_sent("listening", Json::object()));
}

void EventHub::publish(const platform::JobEvent& event) {
  const std::scoped_lock lock(lock_);
  // Also after a restart a number is larger than those before it.
  last_ = std::max(last_ + 1, wall_now_ns() / 1'000'000);
  kept_.push_back({last_, event});
  if (kept_.size() > kKeptEvents) kept_.pop_front();
  const std::int64_t now_ns = mono_now_ns();
  std::erase_if(open_, [&](const Open& one) {
    if (!one.stream->write(event_text(event, last_, one.listener))) return true;
    if (now_ns - one.since_ns < kStreamTime) return false;
    one.stream->end();
    return true;
  });
}

std::size_t EventHub::size() {
  const std::scoped_lock lock(lock_);
  std::erase_if(open_, [](const Open& one) { return one.stream->gone(); });
  return open_.size();
}

}  // namespace assay::rest
