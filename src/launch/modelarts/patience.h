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
/// until it works or has not for `longest`. What the service refuses, and what is wrong on this
/// machine, is thrown at once.
class Patience {
 public:
  /// `say` is told what is waited for. `first` is the first pause, `most` the longest.
  Patience(Nanoseconds longest, Nanoseconds first, Nanoseconds most, std::stop_token stop,
           std::function<void(const std::string&)> say);

  template <class F>
  auto operator()(const std::string& what, F&& f) {
    for (std::int64_t since = 0;;) {
      try {
        return f();
      } catch (const Error& e) {
        bear(what, e, since);
      }
    }
  }

  /// Throws Interrupted when the user asks to end first.
  void pause(Nanoseconds duration) const;

 private:
  /// Waits, or throws.
  void bear(const std::string& what, const Error& error, std::int64_t& since);

  Nanoseconds longest_;
  Nanoseconds first_;
  Nanoseconds most_;
  Nanoseconds next_;
  std::stop_token stop_;
  std::function<void(const std::string&)> say_;
};

}  // namespace assay::launch
