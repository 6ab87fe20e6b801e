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

/// Where a browser is sent, and what it keeps until it is back.
struct Begun {
  std::string location{};
  std::string kept{};  ///< for a cookie: secret, signed, valid for ten minutes
};

/// Who somebody is, as the provider says.
struct Identity {
  std::string issuer{};
  std::string subject{};  ///< never given to anybody else by this issuer
  std::string name{};     ///< the claim that becomes an account's name; may be empty
  std::string full_name{};
  std::vector<std::string> groups{};
};

/// Sign-in by an OpenID provider: the authorization code flow with PKCE (RFC 7636). Thread-safe.
/// The provider is asked when somebody signs in; one that is silent for five seconds or has not
/// answered in ten, however it drips, is given up: begin() asks once, finish() at most three times.
/// Throws Error of kind environment when the provider cannot be reached or says what is not right,
/// usage when the browser's part is not.
class Provider {
 public:
  explicit Provider(OidcSettings settings);

  [[nodiscard]] const OidcSettings& settings() const noexcept { return settings_; }
  /// The address to which the provider sends the browser back.
  [[nodiscard]] std::string redirect() const;
  [[nodiscard]] Begun begin(std::int64_t now_s);
  /// `kept` is the browser's cookie, `state` and `code` are of the address it came back to.
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
  std::string secret_;  ///< with what cookies are signed; of this process
  http::Client client_;
  std::mutex lock_;
  std::optional<Addresses> addresses_;
  std::optional<KeySet> keys_;
  std::int64_t unknown_asked_s_ = 0;  ///< when a key was last asked for that was not known
  std::optional<Failure> failed_;     ///< the last one
};

}  // namespace assay::oidc
