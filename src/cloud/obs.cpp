#include "cloud/obs.h"

#include <algorithm>

#include <fmt/format.h>

#include "cloud/etag.h"
#include "cloud/folder_listing.h"
#include "cloud/obs_authorizer.h"
#include "cloud/service_error.h"
#include "cloud/service_xml.h"
#include "cloud/signature.h"
#include "core/address.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::cloud {

namespace {

std::uint64_t to_number(std::string_view text) {
  return parse_number<std::uint64_t>(text).value_or(0);
}

/// Reads an xs:boolean, which some stores write as "True"; a missing one is false. Nothing for any
/// other word, because a truncated list must not pass for a complete one.
std::optional<bool> xml_flag(std::string_view text) {
  const std::string word = to_lower(trim(text));
  if (word == "true" || word == "1") return true;
  if (word.empty() || word == "false" || word == "0") return false;
  return std::nullopt;
}

/// A key in a list with encoding-type=url: AWS and others encode a space as "+", OBS as "%20"; both
/// encode a plus as "%2B".
std::string decoded_key(std::string text) {
  std::ranges::replace(text, '+', ' ');
  return http::percent_decode(text);
}

}  // namespace

ObsBucket::ObsBucket(http::Client& client, CredentialSource& credentials, ObsOptions options,
                     std::string bucket)
    : client_(client),
      credentials_(credentials),
      options_(std::move(options)),
      bucket_(std::move(bucket)) {
  const bool fits =
      bucket_.size() >= 3 && bucket_.size() <= 63 &&
      std::all_of(bucket_.begin(), bucket_.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
      });
  if (!fits)
    throw Error(ErrorKind::config, fmt::format("'{}' cannot be a bucket's name", bucket_), {},
                "3 to 63 lower-case letters, digits, '-' and '.'");
  const http::Url url = http::parse_url(options_.endpoint, "the OBS endpoint");
  const std::string host = url.host.substr(0, url.host.rfind(':'));
  options_.path_style = options_.path_style || is_ip_address(url.host) || is_ip_address(host) ||
                        url.host.starts_with('[');
  const std::size_t scheme = url.origin.find("://") + 3;
  origin_ =
      options_.path_style ? url.origin : url.origin.substr(0, scheme) + bucket_ + "." + url.host;
  base_path_ = options_.path_style ? "/" + bucket_ + "/" : "/";
}

http::Request ObsBucket::request(const std::string& method, const std::string& key) const {
  http::Request request;
  request.method = method;
  request.origin = origin_;
  request.path = base_path_ + key;
  return request;
}

std::string ObsBucket::describe(const std::string& method, const std::string& key) const {
  return fmt::format("{} {}/{}", method, bucket_, key);
}

http::Response ObsBucket::send(const http::Request& request, const std::string& key,
                               http::Exchange exchange) {
  ObsAuthorizer authorizer(client_, credentials_, options_, bucket_, key);
  exchange.authorizer = &authorizer;
  return client_.send(request, exchange);
}

http::Response ObsBucket::send_or_throw(const http::Request& request, const std::string& key,
                                        http::Exchange exchange) {
  const std::string what = describe(request.method, key);
  const std::string host = request.host();
  http::Response response = send(request, key, std::move(exchange));
  if (!response.ok()) throw service_error(client_, response, what, host);
  return response;
}

ObjectInfo ObsBucket::put(const std::string& key, const std::string& content,
                          const std::stop_token& stop) {
  http::Request put = request("PUT", key);
  const std::string md5 = digest(Hash::md5, content);
  put.set_header("Content-MD5", to_base64(md5));
  put.body = content;
  http::Exchange exchange;
  exchange.stop = stop;
  const http::Response response = send_or_throw(put, key, exchange);
  return {key, content.size(), comparable_etag(response.header("etag"))};
}

std::optional<ObjectInfo> ObsBucket::head(const std::string& key, const std::stop_token& stop) {
  http::Exchange exchange;
  exchange.stop = stop;
  const http::Request ask = request("HEAD", key);
  const http::Response response = send(ask, key, exchange);
  if (response.status == 404) return std::nullopt;
  if (!response.ok()) throw service_error(client_, response, describe("HEAD", key), ask.host());
  // Without the length, every object would look empty.
  const auto size = parse_number<std::uint64_t>(response.header("content-length"));
  if (!size)
    throw http::ExchangeError(
        fmt::format("{} was answered without a Content-Length", describe("HEAD", key)), ask.host(),
        "the store or a proxy leaves it out, which Assay needs: use another one");
  const std::string prefix = options_.signing == ObsSigning::aws_v4 ? "x-amz-" : "x-obs-";
  return ObjectInfo{key,
                    *size,
                    comparable_etag(response.header("etag")),
                    response.header("last-modified"),
                    !response.header(prefix + "server-side-encryption").empty(),
                    to_number(response.header(prefix + "meta-assay-part-size")),
                    response.header("etag")};
}

std::string ObsBucket::get(const std::string& key, std::uint64_t offset, std::uint64_t size,
                           const std::stop_token& stop) {
  http::Request ask = request("GET", key);
  if (size > 0)
    ask.set_header("Range", fmt::format("bytes={}-{}", offset, offset + size - 1));
  else if (offset > 0)
    ask.set_header("Range", fmt::format("bytes={}-", offset));
  http::Exchange exchange;
  exchange.stop = stop;
  http::Response response = send(ask, key, exchange);
  if (response.status == 416) return {};
  if (!response.ok()) throw service_error(client_, response, describe("GET", key), ask.host());
  if ((offset > 0 || size > 0) && (response.status != 206 || !begins_at(response, offset)))
    throw unexpected_answer(client_, response, describe("GET a range of", key), ask.host());
  return std::move(response.body);
}

std::vector<ObjectInfo> ObsBucket::list(const std::string& prefix, const std::stop_token& stop,
                                        int page) {
  return list_folder(prefix, "", stop, page).objects;
}

Listing ObsBucket::list_folder(const std::string& prefix, const std::string& delimiter,
                               const std::stop_token& stop, int page) {
  Listing out;
  std::string marker;
  for (;;) {
    http::Request ask = request("GET", "");
    ask.query = {{"encoding-type", "url"}, {"max-keys", fmt::format("{}", page)}};
    if (!prefix.empty()) ask.query.emplace_back("prefix", prefix);
    if (!marker.empty()) ask.query.emplace_back("marker", marker);
    if (!delimiter.empty()) ask.query.emplace_back("delimiter", delimiter);
    http::Exchange exchange;
    exchange.stop = stop;
    const http::Response response = send_or_throw(ask, "", exchange);
    pugi::xml_document document;
    const bool parsed = load_xml(document, response.body);
    const pugi::xml_node root = document.child("ListBucketResult");
    if (!parsed || !root)
      throw unexpected_answer(client_, response, describe("GET", ""), ask.host());
    // A store that ignores the parameter returns keys unencoded.
    const bool encoded = std::string_view(root.child_value("EncodingType")) == "url";
    const auto key_at = [&](const pugi::xml_node node, const char* name) {
      const std::string text = node.child_value(name);
      return encoded ? decoded_key(text) : text;
    };
    for (const pugi::xml_node item : root.children("Contents")) {
      const auto size = parse_number<std::uint64_t>(item.child_value("Size"));
      if (!size) throw unexpected_answer(client_, response, describe("GET", ""), ask.host());
      out.objects.push_back({key_at(item, "Key"), *size, comparable_etag(item.child_value("ETag")),
                             item.child_value("LastModified")});
    }
    for (const pugi::xml_node item : root.children("CommonPrefixes"))
      out.folders.push_back(key_at(item, "Prefix"));
    const auto truncated = xml_flag(root.child_value("IsTruncated"));
    if (!truncated) throw unexpected_answer(client_, response, describe("GET", ""), ask.host());
    if (!*truncated) {
      // A folder may appear on two pages.
      std::ranges::sort(out.folders);
      const auto twice = std::ranges::unique(out.folders);
      out.folders.erase(twice.begin(), twice.end());
      check_listing(out, prefix, ask.host());
      return out;
    }
    std::string next = key_at(root, "NextMarker");
    // S3-compatible stores return it only with a delimiter; the last key serves as well.
    if (next.empty() && !out.objects.empty()) next = out.objects.back().key;
    if (next.empty() || next <= marker)
      throw Error(ErrorKind::environment, "the list of objects does not go on", ask.host());
    marker = next;
  }
}

void ObsBucket::remove(const std::string& key, const std::stop_token& stop) {
  http::Exchange exchange;
  exchange.stop = stop;
  const http::Request ask = request("DELETE", key);
  const http::Response response = send(ask, key, exchange);
  if (!response.ok() && response.status != 404)
    throw service_error(client_, response, describe("DELETE", key), ask.host());
}

void ObsBucket::check(const std::stop_token& stop) {
  // Uses GET, because a refusal of HEAD has no body and thus no code.
  http::Request ask = request("GET", "");
  ask.query = {{"max-keys", "1"}};
  http::Exchange exchange;
  exchange.stop = stop;
  const http::Response response = send_or_throw(ask, "", exchange);
  pugi::xml_document document;
  if (!load_xml(document, response.body) || !document.child("ListBucketResult"))
    throw unexpected_answer(client_, response, describe("GET", ""), ask.host());
}

void ObsBucket::create() {
  (void)send_or_throw(request("PUT", ""), "", {});
}

std::string ObsBucket::signed_url(const std::string& method, const std::string& key, int seconds) {
  const Credentials credentials = credentials_.get();
  const std::string expires = fmt::format("{}", wall_now_ns() / 1'000'000'000 + seconds);
  http::Query query;
  if (!credentials.security_token.empty())
    query.emplace_back("x-obs-security-token", credentials.security_token);
  const std::string text = obs_string_to_sign({method, "", query, {}, {}}, bucket_, key, expires);
  query.emplace_back("AccessKeyId", credentials.access_key);
  query.emplace_back("Expires", expires);
  query.emplace_back("Signature", obs_signature(text, credentials.secret_key));
  return origin_ + http::percent_encode(base_path_ + key, true) + "?" + http::encode_query(query);
}

}  // namespace assay::cloud
