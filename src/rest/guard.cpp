#include "rest/guard.h"

#include <algorithm>

#include <fmt/format.h>

#include "accounts/secret.h"
#include "core/disk_full.h"
#include "core/text.h"
#include "core/time.h"
#include "database/database.h"

namespace assay::rest {

namespace {

constexpr std::string_view kCookie = "assay_session=";
constexpr std::string_view kProviderCookie = "assay_oidc=";

// Two of one name: somebody has planted one.
std::string only_cookie(const serve::HttpRequest& request, std::string_view begin) {
  std::string found;
  const std::string header = request.header("cookie");
  for (std::string_view part : split(header, ';')) {
    part = trim(part);
    if (!part.starts_with(begin)) continue;
    if (!found.empty()) return {};
    found = std::string(part.substr(begin.size()));
  }
  return found;
}

// "[::1]:8480" is "::1", "LOCALHOST:80" is "localhost".
std::string host_name(std::string host) {
  host = to_lower(host);
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

bool has_header(const serve::HttpResponse& response, std::string_view name) {
  return std::ranges::any_of(response.headers,
                             [&](const auto& header) { return header.first == name; });
}

// The same whether there is such a user or not.
void refuse_to_sign_in(int wait_s) {
  if (wait_s == 0) return;
  serve::Refusal refusal(429, "too_many_attempts", "too many attempts to sign in",
                         "try again later");
  refusal.retry_after_s = wait_s;
  throw refusal;
}

}  // namespace

bool is_asked_as(const serve::HttpRequest& request, const std::vector<std::string>& hosts) {
  return std::ranges::find(hosts, host_name(request.header("host"))) != hosts.end();
}

void check_host(const serve::HttpRequest& request, const std::vector<std::string>& hosts) {
  if (hosts.empty()) return;
  const std::string name = host_name(request.header("host"));
  if (!is_asked_as(request, hosts))
    throw serve::Refusal(421, "wrong_host",
                         "this server is not '" + ellipsize(printable(name), 100) + "'",
                         "give its name with 'assay serve --name HOST'");
}

std::optional<serve::HttpResponse> wrong_host(const serve::HttpRequest& request,
                                              const std::vector<std::string>& hosts) {
  try {
    check_host(request, hosts);
    return std::nullopt;
  } catch (const serve::Refusal& refusal) {
    serve::HttpResponse response = serve::response_of(refusal);
    secure(response);
    return response;
  }
}

void check_origin(const serve::HttpRequest& request, bool tls) {
  const std::string site = request.header("sec-fetch-site");
  const std::string origin = request.header("origin");
  const bool from_here = origin.empty() || to_lower(origin) == (tls ? "https://" : "http://") +
                                                                   to_lower(request.header("host"));
  if ((!site.empty() && site != "same-origin" && site != "none") || !from_here)
    throw serve::Refusal(403, "wrong_origin", "the request comes from a page of another site");
}

std::string session_cookie(const serve::HttpRequest& request) {
  return only_cookie(request, kCookie);
}

std::string provider_cookie(const serve::HttpRequest& request) {
  return only_cookie(request, kProviderCookie);
}

// Lax: the browser comes back from another site.
std::string set_provider(const std::string& value, int seconds, bool tls) {
  return fmt::format("{}{}; HttpOnly; SameSite=Lax; Path=/api/v1/session; Max-Age={}{}",
                     kProviderCookie, value, value.empty() ? 0 : seconds, tls ? "; Secure" : "");
}

std::string set_session(const std::string& secret, bool tls) {
  return fmt::format(
      "{}{}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}{}", kCookie, secret,
      std::chrono::duration_cast<std::chrono::seconds>(accounts::kSessionTime).count(),
      tls ? "; Secure" : "");
}

std::string forget_session(bool tls) {
  return fmt::format("{}; HttpOnly; SameSite=Strict; Path=/; Max-Age=0{}", kCookie,
                     tls ? "; Secure" : "");
}

std::optional<Caller> caller_of(const serve::HttpRequest& request, Context& context,
                                jobs::WallTime now_ns) {
  Caller out;
  if (const std::string header = request.header("authorization"); !header.empty()) {
    const bool bearer = to_lower(header.substr(0, 7)) == "bearer ";
    const auto use =
        bearer ? context.accounts.token_use(trim(header.substr(7)), now_ns) : std::nullopt;
    if (!use)
      throw serve::Refusal(401, "wrong_token", "the token is not known, expired or revoked",
                           "'assay login URL' signs in again");
    out.name = use->user;
    out.by = {use->user, accounts::Credential::Kind::token, accounts::kept(trim(header.substr(7)))};
    out.expires_ns = use->expires_ns;
  } else {
    const std::string secret = session_cookie(request);
    const auto session = context.accounts.session(secret, now_ns);
    if (!session) return std::nullopt;
    out.name = session->user;
    out.session = secret;
    out.by = {session->user, accounts::Credential::Kind::session, accounts::kept(secret)};
    out.csrf = session->csrf;
    out.expires_ns = session->expires_ns;
  }
  const auto person = context.accounts.find(out.name);
  if (!person || person->disabled) return std::nullopt;
  out.role = person->role;
  out.teams = person->teams;
  return out;
}

void limit_sign_in_step(Call& call, SignInWay way) {
  refuse_to_sign_in(
      call.context.sign_ins.ask({.way = way, .address = call.request.address}, mono_now_ns()));
}

SignInAttempt::SignInAttempt(Call& call, SignInWay way, std::string name)
    : limits_(call.context.sign_ins),
      one_{.way = way, .address = call.request.address, .name = std::move(name)} {
  limit_sign_in_step(call, way);
  refuse_to_sign_in(limits_.begin(one_, mono_now_ns()));
}

void SignInAttempt::succeeded() {
  limits_.succeeded(one_, mono_now_ns());
}

serve::HttpResponse failure(const std::exception& error) {
  using database::Cause;
  const auto* const failed = dynamic_cast<const database::DatabaseError*>(&error);
  const Cause cause = failed == nullptr ? Cause::other : failed->cause();
  if (cause == Cause::disk_full || is_disk_full(error)) {
    serve::Refusal refusal(503, "no_room", "the server has no room: its disk is full",
                           "try again when its operator has made room");
    refusal.retry_after_s = 60;
    return serve::response_of(refusal);
  }
  if (cause != Cause::locked && cause != Cause::not_writable)
    return serve::response_of(serve::Refusal(500, "internal", "the server failed",
                                             "its operator finds the cause in its log"));
  const bool locked = cause == Cause::locked;
  serve::Refusal refusal(503, locked ? "busy" : "unavailable",
                         locked ? "another program holds the server's records"
                                : "the server's records cannot be written",
                         locked ? "try again in a moment" : "its operator finds why in its log");
  refusal.retry_after_s = locked ? 5 : 60;
  return serve::response_of(refusal);
}

void secure(serve::HttpResponse& response) {
  const auto add = [&](const char* name, const char* value) {
    if (!has_header(response, name)) response.headers.emplace_back(name, value);
  };
  add("X-Content-Type-Options", "nosniff");
  add("Referrer-Policy", "no-referrer");
  add("Cache-Control", "no-store");
  add("Cross-Origin-Resource-Policy", "same-origin");
  add("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
}

}  // namespace assay::rest
