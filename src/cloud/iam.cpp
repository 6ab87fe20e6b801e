#include "cloud/iam.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "cloud/service_error.h"
#include "cloud/signature.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/json_access.h"
#include "core/text.h"

namespace assay::cloud {

namespace {

/// When to renew what expires at `expires_at` on the server's clock, by our monotonic clock.
std::int64_t renewal_time(const std::string& expires_at, const http::Response& response,
                          Nanoseconds before) {
  const std::int64_t server_now =
      wall_now_ns() + response.clock_offset.value_or(Nanoseconds(0)).count();
  // Without a date, every request would ask for a new token. The documentation promises 24 hours.
  const std::int64_t expires =
      parse_iso_utc(expires_at).value_or(server_now + 24LL * 3600 * 1'000'000'000);
  const std::int64_t life = std::max<std::int64_t>(0, expires - server_now);
  return mono_now_ns() + life - std::min<std::int64_t>(before.count(), life / 10);
}

bool stale_token(const http::Response& refusal) {
  const Refusal read = read_refusal(refusal);
  return refusal.status == 401 || read.code == "ModelArts.0112" || read.code == "ModelArts.2784" ||
         read.message.find("token must be updated") != std::string::npos;
}

}  // namespace

std::optional<std::int64_t> parse_iso_utc(std::string_view text) {
  const std::string copy(text);
  std::tm utc{};
  const char* end = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  if (end == nullptr) return std::nullopt;
  std::int64_t ns = static_cast<std::int64_t>(::timegm(&utc)) * 1'000'000'000;
  if (*end == '.')
    for (std::int64_t unit = 100'000'000; *++end >= '0' && *end <= '9'; unit /= 10)
      ns += unit * (*end - '0');
  if (std::string_view(end) != "Z") return std::nullopt;
  return ns;
}

IamTokens::IamTokens(http::Client& client, IamOptions options)
    : client_(client), options_(std::move(options)) {
  client_.hide(options_.password);
}

void IamTokens::renew(const std::stop_token& stop) {
  Json scope = Json::object();
  if (!options_.project_id.empty())
    scope["project"]["id"] = options_.project_id;
  else if (!options_.project_name.empty())
    scope["project"]["name"] = options_.project_name;
  else
    scope["domain"]["name"] = options_.domain;
  const http::Url url = http::parse_url(options_.endpoint, "the IAM endpoint");
  http::Request request;
  request.method = "POST";
  request.origin = url.origin;
  request.path = "/v3/auth/tokens";
  request.query = {{"nocatalog", "true"}};
  request.repeatable = true;
  request.set_header("Content-Type", "application/json;charset=utf8");
  request.body = dump_line({{"auth",
                             {{"identity",
                               {{"methods", {"password"}},
                                {"password",
                                 {{"user",
                                   {{"name", options_.user},
                                    {"password", options_.password},
                                    {"domain", {{"name", options_.domain}}}}}}}}},
                              {"scope", scope}}}});
  http::Exchange exchange;
  exchange.stop = stop;
  const http::Response response = client_.send(request, exchange);
  const std::string what = fmt::format("the token of user {}", options_.user);
  if (!response.ok()) throw service_error(client_, response, what, url.host);
  const Json body = parse_json_or_null(response.body);
  const std::string token = response.header("x-subject-token");
  if (token.empty() || !body.is_object())
    throw unexpected_answer(client_, response, what, url.host);
  client_.hide(token);
  token_ = token;
  project_id_ = text_at_path(body, "token/project/id");
  renew_at_ns_ =
      renewal_time(text_at_path(body, "token/expires_at"), response, options_.renew_before);
}

std::string IamTokens::get(const std::stop_token& stop) {
  const std::lock_guard lock(mutex_);
  if (token_.empty() || mono_now_ns() >= renew_at_ns_) renew(stop);
  return token_;
}

void IamTokens::refused(const std::string& used) {
  const std::lock_guard lock(mutex_);
  if (token_ == used) token_.clear();  // otherwise another thread was faster
}

std::string IamTokens::project_id(const std::stop_token& stop) {
  (void)get(stop);
  const std::lock_guard lock(mutex_);
  return project_id_;
}

void TokenAuthorizer::authorize(http::Request& request) {
  used_ = tokens_.get();
  request.set_header("X-Auth-Token", used_);
}

bool TokenAuthorizer::renew(const http::Response& refusal) {
  if (!stale_token(refusal)) return false;
  tokens_.refused(used_);
  return true;
}

void SdkAuthorizer::authorize(http::Request& request) {
  used_ = credentials_.get();
  client_.hide(used_.secret_key);
  client_.hide(used_.security_token);
  request.set_header("X-Sdk-Date", compact_utc(wall_now_ns()));
  if (!project_id_.empty()) request.set_header("X-Project-Id", project_id_);
  if (!used_.security_token.empty()) request.set_header("X-Security-Token", used_.security_token);
  Signable parts{request.method, request.path, request.query, request.headers,
                 to_hex(digest(Hash::sha256, std::get<std::string>(request.body)))};
  parts.headers.emplace_back("host", request.host());
  request.set_header("Authorization", sdk_authorization(parts, used_));
}

bool SdkAuthorizer::renew(const http::Response& refusal) {
  return refusal.status == 401 && credentials_.renew(used_);
}

TemporaryCredentials::TemporaryCredentials(IamTokens& tokens, std::chrono::seconds lifetime)
    : tokens_(tokens), lifetime_(lifetime) {
  if (lifetime < std::chrono::minutes(15) || lifetime > std::chrono::hours(24))
    throw Error(ErrorKind::config, "temporary credentials live 15 minutes to 24 hours");
}

Credentials TemporaryCredentials::get() {
  const std::lock_guard lock(mutex_);
  if (!current_.access_key.empty() && mono_now_ns() < renew_at_ns_) return current_;
  const http::Url url = http::parse_url(tokens_.options().endpoint, "the IAM endpoint");
  http::Request request;
  request.method = "POST";
  request.origin = url.origin;
  request.path = "/v3.0/OS-CREDENTIAL/securitytokens";
  request.repeatable = true;
  request.set_header("Content-Type", "application/json;charset=utf8");
  request.body = dump_line(
      {{"auth",
        {{"identity",
          {{"methods", {"token"}}, {"token", {{"duration_seconds", lifetime_.count()}}}}}}}});
  TokenAuthorizer authorizer(tokens_);
  http::Exchange exchange;
  exchange.authorizer = &authorizer;
  http::Client& client = tokens_.client();
  const http::Response response = client.send(request, exchange);
  const std::string what = "the temporary credentials";
  if (!response.ok()) throw service_error(client, response, what, url.host);
  const Json body = parse_json_or_null(response.body);
  const Credentials fresh{text_at_path(body, "credential/access"),
                          text_at_path(body, "credential/secret"),
                          text_at_path(body, "credential/securitytoken")};
  client.hide(fresh.secret_key);
  client.hide(fresh.security_token);
  if (fresh.access_key.empty() || fresh.secret_key.empty())
    throw http::ExchangeError(what + " came without a key", url.host);
  current_ = fresh;
  renew_at_ns_ = renewal_time(text_at_path(body, "credential/expires_at"), response,
                              tokens_.options().renew_before);
  return current_;
}

bool TemporaryCredentials::renew(const Credentials& used) {
  const std::lock_guard lock(mutex_);
  if (current_.access_key == used.access_key) current_ = {};
  return true;
}

}  // namespace assay::cloud
