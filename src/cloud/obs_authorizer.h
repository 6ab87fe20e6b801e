#pragma once

#include <string>

#include "cloud/credentials.h"
#include "cloud/obs.h"
#include "http/client.h"

namespace assay::cloud {

/// Signs the attempts of one request to an object store.
class ObsAuthorizer final : public http::Authorizer {
 public:
  ObsAuthorizer(http::Client& client, CredentialSource& credentials, const ObsOptions& options,
                const std::string& bucket, const std::string& key)
      : client_(client), credentials_(credentials), options_(options), bucket_(bucket), key_(key) {}

  void authorize(http::Request& request) override;
  [[nodiscard]] bool renew(const http::Response& refusal) override;

 private:
  void sign_obs(http::Request& request) const;
  void sign_v4(http::Request& request) const;

  http::Client& client_;
  CredentialSource& credentials_;
  const ObsOptions& options_;
  const std::string& bucket_;
  const std::string& key_;
  Credentials used_;
};

}  // namespace assay::cloud
