#include "launch/cloud/retry_while_unreachable.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cloud/service_error.h"
#include "core/cancelled.h"
#include "http/exchange_error.h"
#include "http/retry.h"

namespace assay::launch {

namespace {

bool may_pass(const Error& error, Patience patience) {
  if (const auto* refusal = dynamic_cast<const cloud::ServiceError*>(&error))
    return refusal->status() >= 500 || http::turned_away(refusal->status());
  // What was cancelled without the user's wish had a limit of its own; end_at() is about the same.
  return patience == Patience::with_silence &&
         (dynamic_cast<const http::ExchangeError*>(&error) != nullptr ||
          dynamic_cast<const Cancelled*>(&error) != nullptr);
}

}  // namespace

RetryWhileUnreachable::RetryWhileUnreachable(Nanoseconds max_wait, Nanoseconds first_pause,
                                             Nanoseconds max_pause, std::stop_token stop,
                                             std::function<void(const std::string&)> report,
                                             Patience patience)
    : max_wait_(max_wait),
      first_pause_(first_pause),
      max_pause_(max_pause),
      next_(first_pause),
      stop_(std::move(stop)),
      report_(std::move(report)),
      patience_(patience) {}

void RetryWhileUnreachable::pause(Nanoseconds duration) const {
  if (!http::pause_unless_stopped(duration, stop_)) throw Interrupted{};
}

void RetryWhileUnreachable::wait_or_rethrow(const std::string& what, const Error& error,
                                            std::int64_t& since) {
  if (stop_.stop_requested()) throw Interrupted{};
  if (!may_pass(error, patience_)) throw;  // the one that is being handled, with its own type
  const std::int64_t now = mono_now_ns();
  if (since == 0) {
    since = now;
    next_ = first_pause_;
  }
  if (end_ns_ != 0 && now >= end_ns_) throw OutOfTime(what, error);
  if (now - since > max_wait_.count())
    throw Error(ErrorKind::environment,
                fmt::format("{} did not work for {:.0f} s: {}", what,
                            seconds(Nanoseconds(now - since)), error.message()),
                error.where(), "when the service can be reached again, go on with --resume");
  report_(fmt::format("{}: {}", what, error.message()));
  pause(end_ns_ == 0 ? next_ : std::min(next_, Nanoseconds(end_ns_ - now)));
  next_ = std::min(next_ * 2, max_pause_);
}

}  // namespace assay::launch
