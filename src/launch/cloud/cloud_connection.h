#pragma once

#include <functional>
#include <memory>

#include "cloud/credentials.h"
#include "cloud/obs.h"
#include "core/time.h"
#include "http/client.h"
#include "launch/cloud/cloud_service.h"
#include "launch/cloud/transfer_settings.h"
#include "plan/launchers/job_service_options.h"

namespace assay::launch {

/// Makes the service that runs the jobs; what it is given outlives it.
using MakeService = std::function<std::unique_ptr<CloudService>(
    http::Client& client, cloud::CredentialSource& credentials, cloud::ObsBucket& bucket)>;

/// The services that a run uses, with its credentials.
struct CloudConnection {
  /// Asks nothing yet.
  CloudConnection(const plan::JobServiceOptions& options, TransferSettings transfer,
                  std::unique_ptr<cloud::CredentialSource> keys, const MakeService& make_service);
  CloudConnection(const CloudConnection&) = delete;
  CloudConnection& operator=(const CloudConnection&) = delete;

  TransferSettings settings;
  http::Client client;
  std::unique_ptr<cloud::CredentialSource> credentials;
  cloud::ObsBucket bucket;
  std::unique_ptr<CloudService> jobs;
};

/// Makes it anew; throws as read_credentials does. Every request with all its tries ends within
/// `answer_limit`; 0: as the transfer settings say.
using Connect = std::function<std::unique_ptr<CloudConnection>(Nanoseconds answer_limit)>;

/// The variables of the environment that hold a key where no file does.
struct KeyVariables {
  const char* access_key;
  const char* secret_key;
  const char* security_token;
};
inline constexpr KeyVariables kHuaweiKeys{"HUAWEICLOUD_SDK_AK", "HUAWEICLOUD_SDK_SK",
                                          "HUAWEICLOUD_SDK_SECURITY_TOKEN"};
inline constexpr KeyVariables kAwsKeys{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                                       "AWS_SESSION_TOKEN"};

/// The JSON object in a file of secrets, which only its owner may read; never quoted in an Error.
[[nodiscard]] Json read_secrets(const std::filesystem::path& file);

/// Reads a key from the file (JSON: access_key, secret_key, security_token), which only its owner
/// may read, or, without a file, from the environment. Throws Error of kind environment that names
/// what is missing, never a secret.
[[nodiscard]] cloud::Credentials read_credentials(const std::filesystem::path& file,
                                                  const KeyVariables& variables = kHuaweiKeys);

/// Those of the file, read again when a service refuses them as expired: whoever renews temporary
/// keys in a long run writes them there. An empty path: those of the environment, which stay.
/// Throws as read_credentials does.
[[nodiscard]] std::unique_ptr<cloud::CredentialSource> credential_source(
    const std::filesystem::path& file, const KeyVariables& variables = kHuaweiKeys);

}  // namespace assay::launch
