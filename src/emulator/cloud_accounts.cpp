#include "emulator/cloud_accounts.h"

#include <cmath>
#include <random>

#include <fmt/format.h>

#include "cloud/signature.h"
#include "core/digest.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "http/date.h"

namespace assay::emulator {

namespace {

constexpr std::int64_t kMaxSkewNs = 15LL * 60 * 1'000'000'000;

std::string random_text(std::size_t bytes) {
  std::random_device device;
  std::string raw;
  for (std::size_t i = 0; i < bytes; ++i) raw += static_cast<char>(device() & 255U);
  return to_hex(raw);
}

ServerResponse iam_error(int status, const std::string& title, const std::string& message) {
  return json_reply(status,
                    {{"error", {{"code", status}, {"message", message}, {"title", title}}}});
}

/// "20191115T033655Z" as ns since the epoch.
std::optional<std::int64_t> compact_date(const std::string& text) {
  std::tm utc{};
  const char* end = ::strptime(text.c_str(), "%Y%m%dT%H%M%SZ", &utc);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return static_cast<std::int64_t>(::timegm(&utc)) * 1'000'000'000;
}

/// The value after "name=" in an Authorization header.
std::string field(const std::string& header, const std::string& name) {
  const std::size_t at = header.find(name + "=");
  if (at == std::string::npos) return {};
  const std::size_t from = at + name.size() + 1;
  return std::string(trim(header.substr(from, header.find(',', from) - from)));
}

cloud::Signable signable(const ServerRequest& request, const std::string& signed_names) {
  cloud::Signable out{request.method, request.path, request.query, {}, {}};
  for (const std::string_view name : split(std::string_view(signed_names), ';'))
    out.headers.emplace_back(std::string(name), request.header(std::string(name)));
  return out;
}

}  // namespace

std::int64_t Accounts::clock() const {
  return wall_now_ns() + settings_.clock_offset.count();
}

void Accounts::expire_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [token, expires] : tokens_) expires = 0;
  for (auto& [key, temporary] : temporary_) temporary.expires_ns = 0;
}

std::optional<Accounts::Found> Accounts::find(const std::string& access_key) {
  if (access_key == settings_.access_key) return Found{settings_.secret_key, "", false};
  const std::lock_guard lock(mutex_);
  const auto at = temporary_.find(access_key);
  if (at == temporary_.end()) return std::nullopt;
  return Found{at->second.secret_key, at->second.security_token, at->second.expires_ns <= clock()};
}

bool Accounts::token_valid(const std::string& token) {
  const std::lock_guard lock(mutex_);
  const auto at = tokens_.find(token);
  return at != tokens_.end() && at->second > clock();
}

ServerResponse Accounts::handle_iam(const ServerRequest& request) {
  if (request.method != "POST") return iam_error(404, "Not Found", "no such interface");
  if (request.path == "/v3/auth/tokens") return issue_token(request);
  if (request.path == "/v3.0/OS-CREDENTIAL/securitytokens") return issue_credentials(request);
  return iam_error(404, "Not Found", "no such interface");
}

ServerResponse Accounts::issue_token(const ServerRequest& request) {
  const Json body = parse_json_or_null(request.body);
  const auto text = [&](const char* pointer) {
    const Json::json_pointer at{pointer};
    return body.contains(at) && body.at(at).is_string() ? body.at(at).get<std::string>() : "";
  };
  if (!body.is_object()) return iam_error(400, "Bad Request", "The request body is invalid");
  const std::string user = "/auth/identity/password/user";
  if (settings_.user.empty() || text((user + "/name").c_str()) != settings_.user ||
      text((user + "/password").c_str()) != settings_.password ||
      text((user + "/domain/name").c_str()) != settings_.domain)
    return iam_error(401, "Unauthorized", "The username or password is wrong.");
  const std::string name = text("/auth/scope/project/name");
  const std::string id = text("/auth/scope/project/id");
  if ((!name.empty() && name != settings_.project_name) ||
      (!id.empty() && id != settings_.project_id))
    return iam_error(403, "Forbidden", "The project does not exist or is not yours.");
  const std::string token = "MII" + random_text(64);
  const std::int64_t expires = clock() + settings_.token_lifetime.count();
  {
    const std::lock_guard lock(mutex_);
    tokens_[token] = expires;
  }
  ServerResponse response = json_reply(
      201, {{"token",
             {{"expires_at", iso_utc(expires, true)},
              {"issued_at", iso_utc(clock(), true)},
              {"methods", {"password"}},
              {"project", {{"id", settings_.project_id}, {"name", settings_.project_name}}},
              {"user", {{"name", settings_.user}}}}}});
  response.headers.emplace_back("X-Subject-Token", token);
  return response;
}

ServerResponse Accounts::issue_credentials(const ServerRequest& request) {
  const std::string token = request.header("x-auth-token");
  if (!token_valid(token)) return iam_error(401, "Unauthorized", "The token must be updated.");
  const Json body = parse_json_or_null(request.body);
  const Json::json_pointer at{"/auth/identity/token/duration_seconds"};
  std::int64_t wanted = 900;
  if (body.contains(at) && body.at(at).is_number_integer()) wanted = body.at(at);
  if (wanted < 900 || wanted > 86400)
    return iam_error(400, "Bad Request", "duration_seconds must be 900 to 86400");
  const auto lifetime =
      std::min<std::int64_t>(wanted * 1'000'000'000, settings_.token_lifetime.count());
  Temporary temporary{random_text(20), random_text(40), clock() + lifetime};
  const std::string access = "HST" + random_text(8);
  {
    const std::lock_guard lock(mutex_);
    temporary_[access] = temporary;
  }
  return json_reply(201, {{"credential",
                           {{"access", access},
                            {"secret", temporary.secret_key},
                            {"expires_at", iso_utc(temporary.expires_ns, true)},
                            {"securitytoken", temporary.security_token}}}});
}

http::Query Accounts::sign_url(const std::string& method, const std::string& bucket,
                               const std::string& key, int seconds) const {
  const std::string expires = fmt::format("{}", clock() / 1'000'000'000 + seconds);
  const std::string text =
      cloud::obs_string_to_sign({method, "", {}, {}, ""}, bucket, key, expires);
  return {{"AccessKeyId", settings_.access_key},
          {"Expires", expires},
          {"Signature", cloud::obs_signature(text, settings_.secret_key)}};
}

std::optional<ServerResponse> Accounts::refuse_obs(const ServerRequest& request,
                                                   const std::string& bucket,
                                                   const std::string& key) {
  const std::string authorization = request.header("authorization");
  if (authorization.starts_with("AWS4-HMAC-SHA256 ")) return refuse_v4(request);
  cloud::Signable parts{request.method, "", request.query, {}, {}};
  for (const auto& header : request.headers) parts.headers.push_back(header);
  std::string access_key;
  std::string given;
  std::string text;
  std::string vendor = "x-obs-";
  if (const auto expires = request.parameter("Expires")) {
    if (parse_number<std::int64_t>(*expires).value_or(0) < clock() / 1'000'000'000)
      return obs_error(403, "AccessDenied", "Request has expired");
    access_key = request.parameter("AccessKeyId").value_or("");
    given = request.parameter("Signature").value_or("");
    text = cloud::obs_string_to_sign(parts, bucket, key, *expires);
  } else if (authorization.starts_with("OBS ") || authorization.starts_with("AWS ")) {
    const std::size_t colon = authorization.rfind(':');
    if (colon == std::string::npos)
      return obs_error(400, "InvalidArgument", "Authorization header is invalid");
    if (authorization.starts_with("AWS ")) vendor = "x-amz-";
    access_key = authorization.substr(4, colon - 4);
    given = authorization.substr(colon + 1);
    std::string given_date = request.header(vendor + "date");
    if (given_date.empty()) given_date = request.header("date");
    // Accepts RFC 822's form, which s3cmd uses.
    if (constexpr std::string_view kZone = "+0000"; given_date.ends_with(kZone))
      given_date.replace(given_date.size() - kZone.size(), kZone.size(), "GMT");
    const auto date = http::parse_http_date(given_date);
    if (!date)
      return obs_error(403, "AccessDenied",
                       "AWS authentication requires a valid Date or x-obs-date header");
    if (std::abs(*date - clock()) > kMaxSkewNs)
      return obs_error(403, "RequestTimeTooSkewed",
                       "The difference between the request time and the current time is too large");
    text = cloud::obs_string_to_sign(parts, bucket, key, {}, vendor);
  } else {
    return obs_error(403, "AccessDenied", "Access Denied");
  }
  const auto found = find(access_key);
  if (!found)
    return obs_error(403, "InvalidAccessKeyId",
                     "The access key ID you provided does not exist in our records.");
  if (cloud::obs_signature(text, found->secret_key) != given)
    return obs_error(403, "SignatureDoesNotMatch",
                     "The request signature we calculated does not match the signature you "
                     "provided. Check your key and signing method.");
  if (found->security_token != request.header(vendor + "security-token"))
    return obs_error(403, "InvalidSecurity", "The provided security token is invalid");
  if (found->expired) return obs_error(400, "ExpiredToken", "The provided token has expired.");
  return std::nullopt;
}

std::optional<ServerResponse> Accounts::refuse_v4(const ServerRequest& request) {
  const std::string authorization = request.header("authorization");
  const std::string scope = field(authorization, "AWS4-HMAC-SHA256 Credential");
  const auto parts = split(std::string_view(scope), '/');
  if (parts.size() != 5)
    return obs_error(400, "AuthorizationHeaderMalformed", "The authorization header is malformed");
  const auto date = compact_date(request.header("x-amz-date"));
  if (!date || std::abs(*date - clock()) > kMaxSkewNs)
    return obs_error(403, "RequestTimeTooSkewed",
                     "The difference between the request time and the current time is too large");
  const auto found = find(std::string(parts[0]));
  if (!found)
    return obs_error(403, "InvalidAccessKeyId",
                     "The access key ID you provided does not exist in our records.");
  cloud::Signable signed_parts = signable(request, field(authorization, "SignedHeaders"));
  signed_parts.payload_hash = request.header("x-amz-content-sha256");
  if (cloud::v4_signature(signed_parts, found->secret_key, parts[2]) !=
      field(authorization, "Signature"))
    return obs_error(403, "SignatureDoesNotMatch",
                     "The request signature we calculated does not match the signature you "
                     "provided. Check your key and signing method.");
  if (found->security_token != request.header("x-amz-security-token"))
    return obs_error(403, "InvalidSecurity", "The provided security token is invalid");
  if (found->expired) return obs_error(400, "ExpiredToken", "The provided token has expired.");
  return std::nullopt;
}

std::optional<ServerResponse> Accounts::refuse_sdk(const ServerRequest& request) {
  const std::string authorization = request.header("authorization");
  const std::string names = field(authorization, "SignedHeaders");
  const std::string bounded = ";" + names + ";";
  const auto date = compact_date(request.header("x-sdk-date"));
  if (!date || bounded.find(";host;") == std::string::npos ||
      bounded.find(";x-sdk-date;") == std::string::npos)
    return modelarts_error(
        401, "APIGW.0301",
        "Incorrect IAM authentication information: host and x-sdk-date must be signed");
  if (std::abs(*date - clock()) > kMaxSkewNs)
    return modelarts_error(401, "APIGW.0301",
                           "Incorrect IAM authentication information: signature expired");
  const auto found = find(field(authorization, "SDK-HMAC-SHA256 Access"));
  if (!found)
    return modelarts_error(401, "APIGW.0301",
                           "Incorrect IAM authentication information: access key not found");
  cloud::Signable parts = signable(request, names);
  parts.payload_hash = to_hex(digest(Hash::sha256, request.body));
  if (cloud::sdk_signature(parts, found->secret_key) != field(authorization, "Signature"))
    return modelarts_error(401, "APIGW.0301",
                           "Incorrect IAM authentication information: verify aksk signature fail");
  if (found->security_token != request.header("x-security-token") || found->expired)
    return modelarts_error(401, "APIGW.0301",
                           "Incorrect IAM authentication information: security token expired");
  return std::nullopt;
}

std::optional<ServerResponse> Accounts::refuse_modelarts(const ServerRequest& request,
                                                         const std::string& project) {
  if (const std::string token = request.header("x-auth-token"); !token.empty()) {
    if (!token_valid(token))
      return modelarts_error(401, "ModelArts.0112", "The token must be updated");
  } else if (request.header("authorization").starts_with("SDK-HMAC-SHA256 ")) {
    if (auto refusal = refuse_sdk(request)) return refusal;
  } else {
    return modelarts_error(401, "ModelArts.0112", "Authentication failed: no token, no signature");
  }
  if (project != settings_.project_id)
    return modelarts_error(404, "ModelArts.2786",
                           "The project ID in the URL does not match that of the user");
  return std::nullopt;
}

}  // namespace assay::emulator
