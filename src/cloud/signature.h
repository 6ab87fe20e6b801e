#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cloud/credentials.h"
#include "http/url.h"

namespace assay::cloud {

/// The signed parts of a request. These are pure values that a client signs and a server verifies.
struct Signable {
  std::string method;
  std::string path;  ///< decoded
  http::Query query;
  std::vector<std::pair<std::string, std::string>> headers;  ///< those to sign, including host
  std::string
      payload_hash;  ///< hex SHA-256 of the body, or the text that replaces it in its header
};

// Huawei's SDK-HMAC-SHA256 (ModelArts, IAM). `headers` must contain host and x-sdk-date.

[[nodiscard]] std::string sdk_canonical_request(const Signable& request);
[[nodiscard]] std::string sdk_signature(const Signable& request, std::string_view secret_key);
/// The value of the Authorization header.
[[nodiscard]] std::string sdk_authorization(const Signable& request, const Credentials& key);

// OBS's header signature. `headers` may contain content-md5, content-type, date and x-obs-*; others
// are not signed.

/// `bucket` and `key` are decoded; both may be empty. Only the query's sub-resources count.
[[nodiscard]] std::string obs_canonical_resource(std::string_view bucket, std::string_view key,
                                                 const http::Query& query);
/// The text to sign. For a signed URL, `expires` (seconds since the epoch) replaces the date. AWS's
/// signature V2 is the same with another `vendor`, the prefix of the headers that are signed.
[[nodiscard]] std::string obs_string_to_sign(const Signable& request, std::string_view bucket,
                                             std::string_view key, std::string_view expires = {},
                                             std::string_view vendor = "x-obs-");
[[nodiscard]] std::string obs_signature(std::string_view string_to_sign,
                                        std::string_view secret_key);

// AWS Signature Version 4 for S3-compatible stores. `headers` must contain host, x-amz-date and
// x-amz-content-sha256.

[[nodiscard]] std::string v4_canonical_request(const Signable& request);
[[nodiscard]] std::string v4_signature(const Signable& request, std::string_view secret_key,
                                       std::string_view region);
[[nodiscard]] std::string v4_authorization(const Signable& request, const Credentials& key,
                                           std::string_view region);

}  // namespace assay::cloud
