#include "cloud/signature.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "core/digest.h"
#include "core/text.h"

namespace assay::cloud {

namespace {

// Sorted by bytes, as in the service.
constexpr std::array<std::string_view, 51> kSubResources = {
    "CDNNotifyConfiguration",
    "acl",
    "append",
    "attname",
    "backtosource",
    "cors",
    "customdomain",
    "delete",
    "deletebucket",
    "directcoldaccess",
    "encryption",
    "inventory",
    "length",
    "lifecycle",
    "location",
    "logging",
    "metadata",
    "modify",
    "name",
    "notification",
    "object-lock",
    "partNumber",
    "policy",
    "position",
    "quota",
    "rename",
    "replication",
    "response-cache-control",
    "response-content-disposition",
    "response-content-encoding",
    "response-content-language",
    "response-content-type",
    "response-expires",
    "restore",
    "retention",
    "storageClass",
    "storageinfo",
    "storagePolicy",
    "tagging",
    "torrent",
    "truncate",
    "uploadId",
    "uploads",
    "versionId",
    "versioning",
    "versions",
    "website",
    "x-image-process",
    "x-image-save-bucket",
    "x-image-save-object",
    "x-obs-security-token",
};

bool is_sub_resource(std::string_view name) {
  return !name.empty() &&
         std::find(kSubResources.begin(), kSubResources.end(), name) != kSubResources.end();
}

/// Lower-case name → trimmed value; repeated headers are joined by commas.
std::map<std::string, std::string> normalized(const Signable& request) {
  std::map<std::string, std::string> headers;
  for (const auto& [name, value] : request.headers) {
    auto [at, first] = headers.emplace(to_lower(name), trim(value));
    if (!first) at->second.append(",").append(trim(value));
  }
  return headers;
}

std::string sorted_query(const http::Query& query) {
  http::Query encoded;
  for (const auto& [name, value] : query)
    encoded.emplace_back(http::percent_encode(name), http::percent_encode(value));
  std::sort(encoded.begin(), encoded.end());
  std::string out;
  for (const auto& [name, value] : encoded) {
    if (!out.empty()) out += '&';
    out += name + "=" + value;
  }
  return out;
}

std::string signed_names(const std::map<std::string, std::string>& headers) {
  std::string names;
  for (const auto& [name, value] : headers) names += (names.empty() ? "" : ";") + name;
  return names;
}

std::string canonical(const Signable& request, const std::string& path) {
  const auto headers = normalized(request);
  std::string out = request.method + "\n" + path + "\n" + sorted_query(request.query) + "\n";
  for (const auto& [name, value] : headers) out += name + ":" + value + "\n";
  return out + "\n" + signed_names(headers) + "\n" + request.payload_hash;
}

std::string value_of(const std::map<std::string, std::string>& headers, const std::string& name) {
  const auto at = headers.find(name);
  return at == headers.end() ? "" : at->second;
}

std::string v4_scope(const Signable& request, std::string_view region) {
  const std::string date = value_of(normalized(request), "x-amz-date").substr(0, 8);
  return fmt::format("{}/{}/s3/aws4_request", date, region);
}

}  // namespace

std::string sdk_canonical_request(const Signable& request) {
  std::string path = http::percent_encode(request.path, true);
  if (!path.ends_with('/')) path += '/';
  return canonical(request, path);
}

std::string sdk_signature(const Signable& request, std::string_view secret_key) {
  const std::string text = "SDK-HMAC-SHA256\n" + value_of(normalized(request), "x-sdk-date") +
                           "\n" + to_hex(digest(Hash::sha256, sdk_canonical_request(request)));
  return to_hex(hmac(Hash::sha256, secret_key, text));
}

std::string sdk_authorization(const Signable& request, const Credentials& key) {
  return fmt::format("SDK-HMAC-SHA256 Access={}, SignedHeaders={}, Signature={}", key.access_key,
                     signed_names(normalized(request)), sdk_signature(request, key.secret_key));
}

std::string obs_canonical_resource(std::string_view bucket, std::string_view key,
                                   const http::Query& query) {
  std::string out = "/";
  if (!bucket.empty()) out += std::string(bucket) + "/" + http::percent_encode(key, true);
  http::Query sub;
  for (const auto& item : query)
    if (is_sub_resource(item.first)) sub.push_back(item);
  std::sort(sub.begin(), sub.end());
  char separator = '?';
  for (const auto& [name, value] : sub) {
    out += separator + name;
    if (!value.empty()) out += "=" + value;
    separator = '&';
  }
  return out;
}

std::string obs_string_to_sign(const Signable& request, std::string_view bucket,
                               std::string_view key, std::string_view expires,
                               std::string_view vendor) {
  const auto headers = normalized(request);
  std::string date = value_of(headers, "date");
  if (headers.contains(std::string(vendor) + "date")) date.clear();
  if (!expires.empty()) date = expires;
  std::string out = request.method + "\n" + value_of(headers, "content-md5") + "\n" +
                    value_of(headers, "content-type") + "\n" + date + "\n";
  for (const auto& [name, value] : headers)
    if (name.starts_with(vendor)) out += name + ":" + value + "\n";
  return out + obs_canonical_resource(bucket, key, request.query);
}

std::string obs_signature(std::string_view string_to_sign, std::string_view secret_key) {
  return to_base64(hmac(Hash::sha1, secret_key, string_to_sign));
}

std::string v4_canonical_request(const Signable& request) {
  return canonical(request, http::percent_encode(request.path, true));
}

std::string v4_signature(const Signable& request, std::string_view secret_key,
                         std::string_view region) {
  const std::string stamp = value_of(normalized(request), "x-amz-date");
  const std::string text = "AWS4-HMAC-SHA256\n" + stamp + "\n" + v4_scope(request, region) + "\n" +
                           to_hex(digest(Hash::sha256, v4_canonical_request(request)));
  std::string key = hmac(Hash::sha256, "AWS4" + std::string(secret_key), stamp.substr(0, 8));
  key = hmac(Hash::sha256, key, region);
  key = hmac(Hash::sha256, key, "s3");
  key = hmac(Hash::sha256, key, "aws4_request");
  return to_hex(hmac(Hash::sha256, key, text));
}

std::string v4_authorization(const Signable& request, const Credentials& key,
                             std::string_view region) {
  return fmt::format("AWS4-HMAC-SHA256 Credential={}/{},SignedHeaders={},Signature={}",
                     key.access_key, v4_scope(request, region), signed_names(normalized(request)),
                     v4_signature(request, key.secret_key, region));
}

}  // namespace assay::cloud
