#pragma once

#include <filesystem>

#include "cloud/obs.h"
#include "core/json.h"
#include "core/time.h"
#include "http/client.h"

namespace assay::launch {

/// How a site reaches its cloud: `transfer` of the file with the credentials, because a private
/// authority, a proxy or a store's dialect belong to the site and not to a benchmark.
struct TransferSettings {
  http::ClientOptions client{};
  cloud::ObsOptions store{};  ///< without an endpoint

  [[nodiscard]] cloud::ObsOptions store_at(const std::string& endpoint) const;
  /// The same, where a request with all its tries ends within `answer_limit`; 0: as it is.
  [[nodiscard]] TransferSettings within(Nanoseconds answer_limit) const;
  /// Of a site whose store speaks S3, unless it says otherwise.
  [[nodiscard]] static TransferSettings of_s3();
};

/// Of `json`, an object with these keys, all optional:
///   ca_file       the private authority's certificates, PEM
///   proxy         else that of the environment
///   stall         "60s": no byte for so long ends an attempt
///   min_rate      "1K": bytes a second, below which it counts as stalled
///   attempts      6, of a request
///   signing       "obs" or "aws-v4", which needs region
///   region
///   path_style    false
///   parallel      8 transfers at once
///   part_size     "32M"
///   multipart_from  "64M"
/// Relative paths are relative to `base`. Throws Error of kind config at `where` for other keys and
/// values.
[[nodiscard]] TransferSettings transfer_settings(const Json& json,
                                                 const std::filesystem::path& base,
                                                 const std::string& where,
                                                 TransferSettings defaults = {});

/// `transfer` of the file, or of the file that ASSAY_CLOUD_TRANSFER names (which is that object)
/// where `credentials` is empty or has none; else the defaults.
[[nodiscard]] TransferSettings read_transfer_settings(const std::filesystem::path& credentials,
                                                      const TransferSettings& defaults = {});

}  // namespace assay::launch
