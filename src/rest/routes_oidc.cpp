#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "oidc/provider.h"
#include "rest/call.h"
#include "rest/guard.h"
#include "serve/log.h"

namespace assay::rest {

namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::string_view kCookie = "assay_oidc=";

// Lax: the browser comes back from another site.
std::string keep_cookie(const std::string& value, int seconds, bool tls) {
  return fmt::format("{}{}; HttpOnly; SameSite=Lax; Path=/api/v1/session/oidc; Max-Age={}{}",
                     kCookie, value, seconds, tls ? "; Secure" : "");
}

serve::HttpResponse redirect_to(const std::string& location) {
  serve::HttpResponse response;
  response.status = 303;
  response.headers.emplace_back("Location", location);
  return response;
}

// What the page of the sign-in says; nothing of what came from outside is in it.
serve::HttpResponse back_to_page(const std::string& parameters, bool tls) {
  serve::HttpResponse response = redirect_to("/#/sign-in?" + parameters);
  response.headers.emplace_back("Set-Cookie", keep_cookie("", 0, tls));
  return response;
}

oidc::Provider& provider_of(Call& call) {
  if (call.context.provider == nullptr) throw not_found("provider of sign-ins");
  return *call.context.provider;
}

serve::HttpResponse show_ways(Call& call) {
  const oidc::Provider* const provider = call.context.provider;
  return json_answer(
      {{"provider", provider == nullptr ? Json() : Json(provider->settings().title)}});
}

serve::HttpResponse begin(Call& call) {
  oidc::Provider& provider = provider_of(call);
  limit_sign_in(call, "");
  try {
    const oidc::Begun begun = provider.begin(call.now_ns / kSecondNs);
    serve::HttpResponse response = redirect_to(begun.location);
    response.headers.emplace_back("Set-Cookie", keep_cookie(begun.kept, 600, call.context.tls));
    return response;
  } catch (const Error& error) {
    serve::log_error(std::string("sign-in by the provider: ") + error.what());
    return back_to_page("failed=provider", call.context.tls);
  }
}

/// Why somebody whom the provider knows does not get in; the page has words for each.
struct NotLetIn {
  const char* why;
};

// The account of an identity. Whose name an account has already is not that person for sure: a
// provider's users may choose their names.
std::string account_of(Call& call, const oidc::Identity& identity) {
  accounts::Accounts& accounts = call.context.accounts;
  const oidc::OidcSettings& settings = provider_of(call).settings();
  const auto by_group = settings.role_of(identity.groups);
  std::string name;
  if (const auto known = accounts.known_as(identity.issuer, identity.subject)) {
    name = *known;
  } else {
    name = identity.name;
    if (accounts.find(name)) {
      if (!settings.link_existing) throw NotLetIn{"taken"};
    } else {
      const auto role = by_group ? by_group : settings.new_accounts;
      if (!role) throw NotLetIn{"unknown"};
      try {
        accounts.put({.name = name, .full_name = identity.full_name, .role = *role}, call.now_ns);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::usage) throw;
        throw NotLetIn{"name"};
      }
    }
    accounts.set_identity(name, identity.issuer, identity.subject);
  }
  auto person = accounts.find(name);
  if (!person || person->disabled) throw NotLetIn{"disabled"};
  if (by_group && *by_group != person->role) {
    person->role = *by_group;
    accounts.put(*person, call.now_ns);
  }
  return name;
}

std::string kept_cookie(const serve::HttpRequest& request) {
  const std::string header = request.header("cookie");
  for (std::string_view part : split(header, ';'))
    if (part = trim(part); part.starts_with(kCookie))
      return std::string(part.substr(kCookie.size()));
  return {};
}

serve::HttpResponse finish(Call& call) {
  oidc::Provider& provider = provider_of(call);
  limit_sign_in(call, "");
  const bool tls = call.context.tls;
  call.noted = "somebody of " + provider.settings().issuer;
  if (!call.asked("error").empty()) return back_to_page("failed=denied", tls);
  try {
    const oidc::Identity identity = provider.finish(kept_cookie(call.request), call.asked("state"),
                                                    call.asked("code"), call.now_ns / kSecondNs);
    const std::string name = account_of(call, identity);
    call.noted = name;
    // The page signs in with a link: the session's cookie is then set by a request of this site.
    return back_to_page("by=provider&link=" + call.context.accounts.make_link(name, call.now_ns),
                        tls);
  } catch (const NotLetIn& refused) {
    return back_to_page(std::string("failed=") + refused.why, tls);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::usage) return back_to_page("failed=again", tls);
    serve::log_error(std::string("sign-in by the provider: ") + error.what());
    return back_to_page("failed=provider", tls);
  }
}

}  // namespace

std::vector<Route> oidc_routes() {
  return {{.method = "GET",
           .path = "/api/v1/sign-in",
           .handler = show_ways,
           .who = Who::anyone,
           .summary = "How one can sign in besides name and password",
           .answer = "SignInWays"},
          {.method = "GET",
           .path = "/api/v1/session/oidc",
           .handler = begin,
           .who = Who::anyone,
           .summary = "Sign in by the OpenID provider: sends the browser there",
           .answer = "",
           .status = 303},
          {.method = "GET",
           .path = "/api/v1/session/oidc/callback",
           .handler = finish,
           .who = Who::anyone,
           .summary = "Where the OpenID provider sends the browser back",
           .answer = "",
           .query = {{"code", "string", "what a token is asked for with"},
                     {"state", "string", "of the request that began it"},
                     {"error", "string", "why there is no code"}},
           .status = 303}};
}

}  // namespace assay::rest
