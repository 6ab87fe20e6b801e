#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "core/error.h"
#include "core/time.h"

namespace assay::launch {

/// The user asked to end while something was waited for.
struct Interrupted {};

/// The time for `what` was over before the service answered. Of kind environment; `cause` is what
/// was heard last.
class OutOfTime : public Error {
 public:
  OutOfTime(const std::string& what, const Error& cause)
      : Error(ErrorKind::environment, what + " did not work: " + cause.message(), cause.where(),
              "when the service can be reached again, go on with --resume"),
        doing_(what),
        cause_(cause.message()) {}
  [[nodiscard]] const std::string& doing() const noexcept { return doing_; }
  [[nodiscard]] const std::string& cause() const noexcept { return cause_; }

 private:
  std::string doing_;
  std::string cause_;
};

/// What is waited out: a service that answers that it is busy or in trouble (425, 429, 5xx), or
/// also one from which no whole answer comes (http::ExchangeError).
enum class Patience { with_a_busy_service, with_silence };

/// Repeats what fails because the service cannot be reached or is in trouble, with growing pauses,
/// until it works or has not for `max_wait`. What the service refuses, and what is wrong on this
/// machine, is thrown at once.
class RetryWhileUnreachable {
 public:
  /// `report` gets what is waited for. Pauses grow from `first_pause` to `max_pause`.
  RetryWhileUnreachable(Nanoseconds max_wait, Nanoseconds first_pause, Nanoseconds max_pause,
                        std::stop_token stop, std::function<void(const std::string&)> report,
                        Patience patience = Patience::with_silence);

  /// From then on (monotonic; 0: never) trouble is not waited out any more: OutOfTime.
  void end_at(std::int64_t mono_ns) { end_ns_ = mono_ns; }

  template <class F>
  auto operator()(const std::string& what, F&& f) {
    for (std::int64_t since = 0;;) {
      try {
        return f();
      } catch (const Error& e) {
        wait_or_rethrow(what, e, since);
      }
    }
  }

  /// Throws Interrupted when the user asks to end first.
  void pause(Nanoseconds duration) const;

 private:
  /// Waits, or throws.
  void wait_or_rethrow(const std::string& what, const Error& error, std::int64_t& since);

  Nanoseconds max_wait_;
  Nanoseconds first_pause_;
  Nanoseconds max_pause_;
  Nanoseconds next_;
  std::stop_token stop_;
  std::function<void(const std::string&)> report_;
  Patience patience_;
  std::int64_t end_ns_ = 0;
};

}  // namespace assay::launch
