#pragma once

#include <functional>
#include <memory>

#include "cloud/credentials.h"
#include "cloud/obs.h"
#include "http/client.h"
#include "launch/cloud/cloud_service.h"
#include "launch/cloud/transfer_settings.h"
#include "plan/launchers/modelarts_options.h"

namespace assay::launch {

/// Makes the service that runs the jobs; what it is given outlives it.
using MakeJobs = std::function<std::unique_ptr<CloudService>(http::Client& client,
                                                             cloud::CredentialSource& credentials)>;

/// The services of the cloud that a run uses, with its credentials.
struct CloudConnection {
  /// Throws as read_credentials does; asks nothing yet.
  CloudConnection(const plan::ModelArtsOptions& options, const MakeJobs& make_jobs);
  CloudConnection(const CloudConnection&) = delete;
  CloudConnection& operator=(const CloudConnection&) = delete;

  TransferSettings settings;
  http::Client client;
  std::unique_ptr<cloud::CredentialSource> credentials;
  std::unique_ptr<CloudService> jobs;
  cloud::ObsBucket bucket;
};

/// Reads a key from the file (JSON: access_key, secret_key, security_token), which only its owner
/// may read, or, without a file, from HUAWEICLOUD_SDK_AK, HUAWEICLOUD_SDK_SK and
/// HUAWEICLOUD_SDK_SECURITY_TOKEN. Throws Error of kind environment that names what is missing,
/// never a secret.
[[nodiscard]] cloud::Credentials read_credentials(const std::filesystem::path& file);

/// Those of the file, read again when a service refuses them as expired: whoever renews temporary
/// keys in a long run writes them there. An empty path: those of the environment, which stay.
/// Throws as read_credentials does.
[[nodiscard]] std::unique_ptr<cloud::CredentialSource> credential_source(
    const std::filesystem::path& file);

}  // namespace assay::launch
