#include "oidc/provider.h"

#include <fmt/format.h>

#include "accounts/secret.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/json_access.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "core/time.h"
#include "oidc/id_token.h"

namespace assay::oidc {

namespace {

constexpr std::int64_t kPatienceS = 600;  // for a person to sign in at the provider
constexpr std::int64_t kKeysApartS = 10;  // between two questions for unknown keys
constexpr std::size_t kMaxCode = 4096;
constexpr Nanoseconds kAnswerLimit = std::chrono::seconds(10);
// All sign-ins that wait for the same answer fail together with it.
constexpr Nanoseconds kFailureKept = std::chrono::seconds(5);
constexpr const char* kRedirectPath = "/api/v1/session/oidc/callback";

http::ClientOptions client_options(const OidcSettings& settings) {
  http::ClientOptions options;
  options.connect_timeout = std::chrono::seconds(5);
  options.stall_timeout = std::chrono::seconds(5);
  options.total_limit = kAnswerLimit;
  options.retry.attempts = 2;
  options.max_body = 256U << 10;
  options.ca_file = settings.ca_file;
  return options;
}

Error broken_off() {
  return {ErrorKind::usage, "the sign-in was broken off, or took too long", {}, "begin again"};
}

std::vector<std::string> groups_in(const Json& claims, const std::string& name) {
  std::vector<std::string> out;
  for (const Json& one : list_at(claims, name.c_str()))
    if (one.is_string()) out.push_back(one.get<std::string>());
  return out;
}

}  // namespace

Provider::Provider(OidcSettings settings)
    : settings_(std::move(settings)),
      secret_(accounts::new_secret()),
      client_(client_options(settings_)) {
  if (!settings_.client_secret.empty()) client_.hide(settings_.client_secret);
}

std::string Provider::redirect() const {
  return settings_.url + kRedirectPath;
}

std::string Provider::sealed(std::string_view text) const {
  return to_base64url(hmac(Hash::sha256, secret_, text));
}

Json Provider::fetch(const std::string& url) {
  if (failed_ && failed_->url == url && mono_now_ns() - failed_->at_ns < kFailureKept.count())
    throw failed_->error;
  try {
    return fetch_now(url);
  } catch (const Error& error) {
    failed_ = Failure{url, error, mono_now_ns()};
    throw;
  }
}

Json Provider::fetch_now(const std::string& url) {
  const http::Url parsed = http::parse_url(url, "the provider " + settings_.issuer);
  http::Request request;
  request.origin = parsed.origin;
  request.path = parsed.path;
  request.query = parsed.query;
  const http::Response response = client_.send(request);
  Json json = parse_json_or_null(response.body);
  if (!response.ok() || !json.is_object())
    throw Error(ErrorKind::environment,
                fmt::format("the provider did not return a valid OpenID document (HTTP {})",
                            response.status),
                url, "check 'issuer' in the settings of the sign-in");
  return json;
}

Provider::Addresses Provider::addresses() {
  const std::scoped_lock lock(lock_);
  if (addresses_) return *addresses_;
  std::string base = settings_.issuer;
  while (base.ends_with('/')) base.pop_back();
  const std::string url = base + "/.well-known/openid-configuration";
  const Json found = fetch(url);
  if (text_at(found, "issuer") != settings_.issuer)
    throw Error(ErrorKind::environment,
                "the provider calls itself '" + printable(text_at(found, "issuer")) + "'", url,
                "write 'issuer' exactly so, if that is the one you mean");
  Addresses out{text_at(found, "authorization_endpoint"), text_at(found, "token_endpoint"),
                text_at(found, "jwks_uri")};
  for (const std::string& address : {out.authorization, out.token, out.keys}) {
    const http::Url parsed = http::parse_url(address, url);
    // A provider with TLS must not direct secrets to an address without.
    if (settings_.issuer.starts_with("https://") && !parsed.origin.starts_with("https://"))
      throw Error(ErrorKind::environment, "the provider has an address without TLS: " + address,
                  url);
  }
  addresses_ = out;
  return out;
}

KeySet Provider::keys_for(const std::string& id, std::int64_t now_s) {
  const std::string address = addresses().keys;
  const std::scoped_lock lock(lock_);
  // Providers change their keys, perhaps just after this server fetched them. Yet tokens with
  // invented keys must not make it fetch them all the time.
  const bool unknown = keys_ && !keys_->has(id);
  if (keys_ && (!unknown || now_s - unknown_asked_s_ < kKeysApartS)) return *keys_;
  if (unknown) unknown_asked_s_ = now_s;
  keys_ = KeySet::parse(fetch(address), address);
  return *keys_;
}

Begun Provider::begin(std::int64_t now_s) {
  const std::string state = accounts::new_secret();
  const std::string nonce = accounts::new_secret();
  const std::string verifier = accounts::new_secret();
  http::Url to = http::parse_url(addresses().authorization, "the provider " + settings_.issuer);
  for (const auto& [name, value] :
       http::Query{{"response_type", "code"},
                   {"client_id", settings_.client_id},
                   {"redirect_uri", redirect()},
                   {"scope", join(settings_.scopes, " ")},
                   {"state", state},
                   {"nonce", nonce},
                   {"code_challenge", to_base64url(digest(Hash::sha256, verifier))},
                   {"code_challenge_method", "S256"}})
    to.query.emplace_back(name, value);
  const std::string kept = fmt::format("{}.{}.{}.{}", state, nonce, verifier, now_s + kPatienceS);
  return {to.origin + http::percent_encode(to.path, true) + "?" + http::encode_query(to.query),
          kept + "." + sealed(kept)};
}

std::string Provider::ask_for_token(const std::string& code, const std::string& verifier) {
  const http::Url to = http::parse_url(addresses().token, "the provider " + settings_.issuer);
  http::Request request;
  request.method = "POST";
  request.origin = to.origin;
  request.path = to.path;
  request.query = to.query;
  http::Query form{{"grant_type", "authorization_code"},
                   {"code", code},
                   {"redirect_uri", redirect()},
                   {"client_id", settings_.client_id},
                   {"code_verifier", verifier}};
  if (!settings_.client_secret.empty())
    request.set_header("Authorization",
                       "Basic " + to_base64(http::percent_encode(settings_.client_id) + ":" +
                                            http::percent_encode(settings_.client_secret)));
  request.body = http::encode_query(form);
  request.set_header("Content-Type", "application/x-www-form-urlencoded");
  request.set_header("Accept", "application/json");
  const http::Response response = client_.send(request);
  const Json answer = parse_json_or_null(response.body);
  std::string token = text_at(answer, "id_token");
  if (!response.ok() || token.empty()) {
    const std::string why = text_at(answer, "error");
    throw Error(ErrorKind::environment,
                fmt::format("the provider gives no token (HTTP {}{})", response.status,
                            why.empty() ? "" : ": " + ellipsize(printable(why), 100)),
                to.origin, "the sign-in is begun again, or the client's secret is wrong");
  }
  return token;
}

Identity Provider::finish(const std::string& kept, const std::string& state,
                          const std::string& code, std::int64_t now_s) {
  const std::size_t end = kept.rfind('.');
  if (end == std::string::npos ||
      !accounts::same_secret(sealed(kept.substr(0, end)), kept.substr(end + 1)))
    throw broken_off();
  const std::vector<std::string_view> parts = split(std::string_view(kept).substr(0, end), '.');
  if (parts.size() != 4 || !accounts::same_secret(parts[0], state) || code.empty() ||
      code.size() > kMaxCode)
    throw broken_off();
  const auto until = parse_number<std::int64_t>(parts[3]);
  if (!until || now_s > *until) throw broken_off();
  const std::string token = ask_for_token(code, std::string(parts[2]));
  const Json claims = check_id_token(token, keys_for(key_id_of(token), now_s),
                                     {.issuer = settings_.issuer,
                                      .client = settings_.client_id,
                                      .nonce = std::string(parts[1]),
                                      .now_s = now_s});
  return {.issuer = settings_.issuer,
          .subject = text_at(claims, "sub"),
          .name = text_at(claims, settings_.user_claim.c_str()),
          .full_name = text_at(claims, "name"),
          .groups = groups_in(claims, settings_.groups_claim)};
}

}  // namespace assay::oidc
