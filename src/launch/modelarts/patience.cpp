#include "launch/modelarts/patience.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cloud/service_error.h"
#include "http/retry.h"

namespace assay::launch {

namespace {

bool may_pass(const Error& error) {
  if (const auto* refusal = dynamic_cast<const cloud::ServiceError*>(&error))
    return refusal->status() >= 500 || refusal->status() == 429;
  // Of no connection the place is a host; of a file it is its path.
  return error.kind() == ErrorKind::environment && !error.where().starts_with('/');
}

}  // namespace

Patience::Patience(Nanoseconds longest, Nanoseconds first, Nanoseconds most, std::stop_token stop,
                   std::function<void(const std::string&)> say)
    : longest_(longest),
      first_(first),
      most_(most),
      next_(first),
      stop_(std::move(stop)),
      say_(std::move(say)) {}

void Patience::pause(Nanoseconds duration) const {
  if (!http::pause_unless_stopped(duration, stop_)) throw Interrupted{};
}

void Patience::bear(const std::string& what, const Error& error, std::int64_t& since) {
  if (stop_.stop_requested()) throw Interrupted{};
  if (!may_pass(error)) throw;  // the one that is being handled, with its own type
  const std::int64_t now = mono_now_ns();
  if (since == 0) {
    since = now;
    next_ = first_;
  }
  if (now - since > longest_.count())
    throw Error(ErrorKind::environment,
                fmt::format("{} did not work for {:.0f} s: {}", what,
                            seconds(Nanoseconds(now - since)), error.message()),
                error.where(), "when the service can be reached again, go on with --resume");
  say_(fmt::format("{}: {}", what, error.message()));
  pause(next_);
  next_ = std::min(next_ * 2, most_);
}

}  // namespace assay::launch
