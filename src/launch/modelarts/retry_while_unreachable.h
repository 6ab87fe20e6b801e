#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "core/error.h"
#include "core/time.h"

namespace assay::launch {

/// The user asked to end while something was waited for.
struct Interrupted {};

/// Repeats what fails because the service cannot be reached or is in trouble, with growing pauses,
/// until it works or has not for `max_wait`. What the service refuses, and what is wrong on this
/// machine, is thrown at once.
class RetryWhileUnreachable {
 public:
  /// `report` gets what is waited for. Pauses grow from `first_pause` to `max_pause`.
  RetryWhileUnreachable(Nanoseconds max_wait, Nanoseconds first_pause, Nanoseconds max_pause,
                        std::stop_token stop, std::function<void(const std::string&)> report);

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
};

}  // namespace assay::launch
