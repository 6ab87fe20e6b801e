#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "http/client.h"
#include "oidc/key_set.h"
#include "oidc/oidc_settings.h"

namespace assay::oidc {

/// Where to send a browser, and what it keeps until it comes back.
struct Begun {
  std::string location{};
  std::string kept{};  ///< the cookie: secret, signed, valid for ten minutes
};

/// A person, in the provider's words.
struct Identity {
  std::string issuer{};
  std::string subject{};  ///< unique forever at this issuer
  std::string name{};     ///< of `user_claim`, for a new account; may be empty
  std::string full_name{};
  std::vector<std::string> groups{};
};

/// Sign-in with an OpenID provider: the authorization code flow with PKCE (RFC 7636). Thread-safe.
/// Every sign-in asks the provider: begin() once, finish() at most three times. A question fails
/// after five seconds of silence, and after ten seconds in any case, so that a slow answer cannot
/// hold a thread. Throws Error of kind environment if the provider cannot be reached or its answer
/// is wrong, and of kind usage if the browser's part is wrong.
class Provider {
 public:
  explicit Provider(OidcSettings settings);

  [[nodiscard]] const OidcSettings& settings() const noexcept { return settings_; }
  /// Where the provider sends the browser back to.
  [[nodiscard]] std::string redirect() const;
  [[nodiscard]] Begun begin(std::int64_t now_s);
  /// `kept` is the browser's cookie; `state` and `code` are from the address to which it came back.
  [[nodiscard]] Identity finish(const std::string& kept, const std::string& state,
                                const std::string& code, std::int64_t now_s);

 private:
  struct Addresses {
    std::string authorization{};
    std::string token{};
    std::string keys{};
  };
  struct Failure {
    std::string url{};
    Error error;
    std::int64_t at_ns = 0;
  };
  /// With the lock held.
  [[nodiscard]] Json fetch(const std::string& url);
  [[nodiscard]] Json fetch_now(const std::string& url);
  [[nodiscard]] Addresses addresses();
  [[nodiscard]] KeySet keys_for(const std::string& id, std::int64_t now_s);
  [[nodiscard]] std::string ask_for_token(const std::string& code, const std::string& verifier);
  [[nodiscard]] std::string sealed(std::string_view text) const;

  OidcSettings settings_;
  std::string secret_;  ///< signs the cookies; new in every process
  http::Client client_;
  std::mutex lock_;
  std::optional<Addresses> addresses_;
  std::optional<KeySet> keys_;
  std::int64_t unknown_asked_s_ = 0;  ///< when an unknown key was last looked for
  std::optional<Failure> failed_;     ///< the last failure
};

}  // namespace assay::oidc
