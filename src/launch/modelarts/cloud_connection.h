#pragma once

#include <memory>

#include "cloud/credentials.h"
#include "cloud/modelarts.h"
#include "cloud/obs.h"
#include "http/client.h"
#include "launch/modelarts/cloud_service.h"
#include "plan/launchers/modelarts_options.h"

namespace assay::launch {

/// The services of the cloud that a run uses, with its credentials.
struct CloudConnection {
  /// Throws as read_credentials does; asks nothing yet.
  explicit CloudConnection(const plan::ModelArtsOptions& options);
  CloudConnection(const CloudConnection&) = delete;
  CloudConnection& operator=(const CloudConnection&) = delete;

  http::Client client;
  cloud::FixedCredentials credentials;
  cloud::ModelArtsService modelarts;
  std::unique_ptr<CloudService> jobs;
  cloud::ObsBucket bucket;
};

/// Reads them from the file (JSON: access_key, secret_key, security_token), which only its owner
/// may read, or from HUAWEICLOUD_SDK_AK, HUAWEICLOUD_SDK_SK and HUAWEICLOUD_SDK_SECURITY_TOKEN.
/// Throws Error of kind environment that names what is missing, never a secret.
[[nodiscard]] cloud::Credentials read_credentials(const plan::ModelArtsOptions& options);

}  // namespace assay::launch
