#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "cloud/credentials.h"
#include "core/time.h"
#include "http/client.h"

namespace assay::cloud {

struct IamOptions {
  std::string endpoint;  ///< "https://iam.cn-north-4.myhuaweicloud.com"
  std::string user;
  std::string password;
  std::string domain;        ///< the user's account
  std::string project_name;  ///< usually the region; required without a project_id
  std::string project_id;
  /// Renews a token when it is valid for less than this (or a tenth of its life, if shorter).
  Nanoseconds renew_before = std::chrono::minutes(30);
};

/// A user's tokens, renewed before they expire and after a service refused one. Thread-safe:
/// several threads that need a new one make a single request.
class IamTokens {
 public:
  /// `client` must outlive this.
  IamTokens(http::Client& client, IamOptions options);

  /// A currently valid token. Throws Error; a wrong user or password is a ServiceError.
  [[nodiscard]] std::string get(const std::stop_token& stop = {});
  /// Reports that a service refused `used`, so that get() returns another one.
  void refused(const std::string& used);
  /// The id of the token's project. Asks IAM if there is no token yet.
  [[nodiscard]] std::string project_id(const std::stop_token& stop = {});

  [[nodiscard]] http::Client& client() noexcept { return client_; }
  [[nodiscard]] const IamOptions& options() const noexcept { return options_; }

 private:
  void renew(const std::stop_token& stop);

  http::Client& client_;
  IamOptions options_;
  std::mutex mutex_;
  std::string token_;
  std::string project_id_;
  std::int64_t renew_at_ns_ = 0;  // on CLOCK_MONOTONIC
};

/// Sends a token with every request to a service.
class TokenAuthorizer final : public http::Authorizer {
 public:
  explicit TokenAuthorizer(IamTokens& tokens) : tokens_(tokens) {}
  void authorize(http::Request& request) override;
  [[nodiscard]] bool renew(const http::Response& refusal) override;

 private:
  IamTokens& tokens_;
  std::string used_;
};

/// Signs every request with an access key (SDK-HMAC-SHA256). Bodies must be in memory.
class SdkAuthorizer final : public http::Authorizer {
 public:
  SdkAuthorizer(http::Client& client, CredentialSource& credentials, std::string project_id)
      : client_(client), credentials_(credentials), project_id_(std::move(project_id)) {}
  void authorize(http::Request& request) override;
  [[nodiscard]] bool renew(const http::Response& refusal) override;

 private:
  http::Client& client_;
  CredentialSource& credentials_;
  std::string project_id_;
  Credentials used_;
};

/// Temporary keys (access key, secret and security token) from IAM, renewed like tokens.
class TemporaryCredentials final : public CredentialSource {
 public:
  /// `lifetime` is 15 minutes to 24 hours. `tokens` must outlive this.
  TemporaryCredentials(IamTokens& tokens, std::chrono::seconds lifetime);
  [[nodiscard]] Credentials get() override;
  [[nodiscard]] bool renew(const Credentials& used) override;

 private:
  IamTokens& tokens_;
  std::chrono::seconds lifetime_;
  std::mutex mutex_;
  Credentials current_;
  std::int64_t renew_at_ns_ = 0;  // on CLOCK_MONOTONIC
};

/// "2015-11-09T01:42:57.527363Z" as Unix time in ns; fractions are optional.
[[nodiscard]] std::optional<std::int64_t> parse_iso_utc(std::string_view text);

}  // namespace assay::cloud
