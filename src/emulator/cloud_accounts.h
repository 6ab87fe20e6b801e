#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "emulator/emulator_settings.h"
#include "emulator/streaming_server.h"

namespace assay::emulator {

/// IAM, and the check of a caller's permissions. Thread-safe.
class Accounts {
 public:
  explicit Accounts(const Settings& settings) : settings_(settings) {}

  /// POST /v3/auth/tokens and /v3.0/OS-CREDENTIAL/securitytokens.
  [[nodiscard]] ServerResponse handle_iam(const ServerRequest& request);

  /// The service's refusal; nothing if the request is allowed.
  [[nodiscard]] std::optional<ServerResponse> refuse_obs(const ServerRequest& request,
                                                         const std::string& bucket,
                                                         const std::string& key);
  [[nodiscard]] std::optional<ServerResponse> refuse_modelarts(const ServerRequest& request,
                                                               const std::string& project);

  /// Invalidates every token and temporary key issued so far.
  void expire_all();
  /// The emulated service's clock, in ns since the epoch.
  [[nodiscard]] std::int64_t clock() const;
  /// The query of a URL that allows `method` on an object for some minutes.
  [[nodiscard]] http::Query sign_url(const std::string& method, const std::string& bucket,
                                     const std::string& key, int seconds) const;

 private:
  struct Temporary {
    std::string secret_key;
    std::string security_token;
    std::int64_t expires_ns = 0;
  };
  struct Found {
    std::string secret_key;
    std::string security_token;
    bool expired = false;
  };
  [[nodiscard]] std::optional<Found> find(const std::string& access_key);
  [[nodiscard]] bool token_valid(const std::string& token);
  [[nodiscard]] ServerResponse issue_token(const ServerRequest& request);
  [[nodiscard]] ServerResponse issue_credentials(const ServerRequest& request);
  [[nodiscard]] std::optional<ServerResponse> refuse_v4(const ServerRequest& request);
  [[nodiscard]] std::optional<ServerResponse> refuse_sdk(const ServerRequest& request);

  const Settings& settings_;
  std::mutex mutex_;
  std::map<std::string, std::int64_t> tokens_;  // → expiry, in ns since the epoch
  std::map<std::string, Temporary> temporary_;  // by access key
};

/// Replies in each service's form.
[[nodiscard]] ServerResponse obs_error(int status, const std::string& code,
                                       const std::string& message,
                                       const std::string& resource = {});
[[nodiscard]] ServerResponse json_reply(int status, const Json& body);
[[nodiscard]] ServerResponse modelarts_error(int status, const std::string& code,
                                             const std::string& message);

}  // namespace assay::emulator
