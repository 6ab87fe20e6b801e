#pragma once

#include <string>

namespace assay::cloud {

/// An access key. `secret_key` and `security_token` leave the process only in a signature or in the
/// header meant for them.
struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string security_token;  ///< for temporary credentials; else empty
};

/// The source of the key for requests. Thread-safe.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  /// Returns currently valid credentials; may ask a service. Throws Error.
  [[nodiscard]] virtual Credentials get() = 0;
  /// Called when the service refused `used` as expired; returns whether get() now gives others.
  [[nodiscard]] virtual bool renew(const Credentials& used) = 0;
};

/// A key that never changes.
class FixedCredentials final : public CredentialSource {
 public:
  explicit FixedCredentials(Credentials credentials) : credentials_(std::move(credentials)) {}
  [[nodiscard]] Credentials get() override { return credentials_; }
  [[nodiscard]] bool renew(const Credentials&) override { return false; }

 private:
  Credentials credentials_;
};

}  // namespace assay::cloud
