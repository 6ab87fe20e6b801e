#pragma once

#include <cstdint>
#include <string>

#include "serve/rate_limit.h"

namespace assay::rest {

/// By what somebody signs in.
enum class SignInWay : std::uint8_t { password, link, provider };

struct SignInTry {
  SignInWay way = SignInWay::password;
  std::string address{};  ///< from where
  std::string name{};     ///< as whom; of a password alone
};

/// How often one may sign in. What fails is counted closely; what succeeds only against floods:
/// many people may have one address, and all of them come in the morning. Every way has budgets of
/// its own, so that who is refused by one still gets in by another. Times are of a monotonic clock.
/// Thread-safe.
class SignInLimits {
 public:
  /// Counts a request that is a step of a sign-in, be it right or wrong. 0: granted; else the
  /// seconds to wait.
  [[nodiscard]] int ask(const SignInTry& one, std::int64_t now_ns);
  /// Begins an attempt, in the same way. It counts as a failed one until succeeded() says
  /// otherwise, so that those that are made at the same time are counted, too. One that is not
  /// granted is not counted.
  [[nodiscard]] int begin(const SignInTry& one, std::int64_t now_ns);
  void succeeded(const SignInTry& one, std::int64_t now_ns);

 private:
  serve::RateLimiter requests_{4, 400};  // by way and address
  serve::RateLimiter failed_by_address_{0.5, 60};
  serve::RateLimiter failed_by_name_{1.0 / 10, 10};  // and address
  serve::RateLimiter failed_by_account_{0.2, 100};   // from all addresses together
};

}  // namespace assay::rest
