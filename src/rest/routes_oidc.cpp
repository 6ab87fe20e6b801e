#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "oidc/provider.h"
#include "rest/call.h"
#include "rest/guard.h"
#include "serve/log.h"

namespace assay::rest {

using accounts::LinkBy;

namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

serve::HttpResponse redirect_to(const std::string& location) {
  serve::HttpResponse response;
  response.status = 303;
  response.headers.emplace_back("Location", location);
  return response;
}

// What the page of the sign-in says; nothing of what came from outside is in it. `link`: with which
// this browser, and no other, gets its session.
serve::HttpResponse back_to_page(const std::string& parameters, bool tls,
                                 const std::string& link = {}) {
  serve::HttpResponse response = redirect_to("/#/sign-in?" + parameters);
  response.headers.emplace_back("Set-Cookie", set_provider(link, 120, tls));
  return response;
}

oidc::Provider& provider_of(Call& call) {
  if (call.context.provider == nullptr) throw not_found("there is no such provider of sign-ins");
  return *call.context.provider;
}

serve::HttpResponse show_ways(Call& call) {
  const oidc::Provider* const provider = call.context.provider;
  return json_answer(
      {{"provider", provider == nullptr ? Json() : Json(provider->settings().title)}});
}

serve::HttpResponse begin(Call& call) {
  oidc::Provider& provider = provider_of(call);
  limit_sign_in_step(call, SignInWay::provider);
  try {
    const oidc::Begun begun = provider.begin(call.now_ns / kSecondNs);
    serve::HttpResponse response = redirect_to(begun.location);
    response.headers.emplace_back("Set-Cookie", set_provider(begun.kept, 600, call.context.tls));
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

// Names that differ in capital letters alone are one.
bool is_taken(accounts::Accounts& accounts, const std::string& name) {
  return std::ranges::any_of(accounts.people(), [&](const accounts::Person& person) {
    return to_lower(person.name) == to_lower(name);
  });
}

// Where groups give roles, who is in none of them has lost what they had: sessions, links and
// tokens end. The last administrator keeps the role, so that there is one, but is not let in by
// this door.
[[noreturn]] void shut_out(Call& call, const std::string& name) {
  const bool lowered = call.context.accounts.shut_out(name);
  call.context.streams.ask_now();
  if (lowered) throw NotLetIn{"groups"};
  serve::log_error("sign-in by the provider: '" + name +
                   "' has no role by their groups any more, but is the last administrator");
  throw NotLetIn{"last"};
}

// Makes the role what it is to be from now on. Earlier sessions end where that is less.
void set_role(Call& call, accounts::Person person, jobs::Role role) {
  accounts::Accounts& accounts = call.context.accounts;
  if (role == person.role) return;
  const bool less = role < person.role;
  person.role = role;
  try {
    accounts.put(person, call.now_ns);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    shut_out(call, person.name);  // of the last administrator
  }
  if (less) accounts.sign_out_everywhere(person.name);
  call.context.streams.ask_now();
}

// The account of an identity. Whose name an account has already is not that person for sure: a
// provider's users may choose their names.
std::string account_of(Call& call, const oidc::Identity& identity) {
  accounts::Accounts& accounts = call.context.accounts;
  const oidc::OidcSettings& settings = provider_of(call).settings();
  const auto by_group = settings.role_of(identity.groups);
  const auto role = by_group ? by_group : settings.new_accounts;
  // Without groups that give roles, a role is given here, by hand.
  const bool groups_decide = !settings.roles.empty();
  std::string name;
  if (const auto known = accounts.known_as(identity.issuer, identity.subject)) {
    name = *known;
  } else {
    name = identity.name;
    if (accounts.find(name)) {
      if (!settings.link_existing) throw NotLetIn{"taken"};
      // Before it is theirs: whose it was keeps it as it is.
      if (groups_decide && !role) throw NotLetIn{"groups"};
    } else {
      if (!role) throw NotLetIn{groups_decide ? "groups" : "unknown"};
      try {
        accounts.put({.name = name, .full_name = identity.full_name, .role = *role}, call.now_ns);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::usage) throw;
        throw NotLetIn{is_taken(accounts, name) ? "taken" : "name"};
      }
    }
    accounts.set_identity(name, identity.issuer, identity.subject);
  }
  const auto person = accounts.find(name);
  if (!person || person->disabled) throw NotLetIn{"disabled"};
  if (!groups_decide) return name;
  if (!role) shut_out(call, name);
  set_role(call, *person, *role);
  return name;
}

serve::HttpResponse finish(Call& call) {
  oidc::Provider& provider = provider_of(call);
  SignInAttempt attempt(call, SignInWay::provider);
  const bool tls = call.context.tls;
  call.noted = "somebody of " + provider.settings().issuer;
  if (!call.asked("error").empty()) {
    attempt.succeeded();  // somebody has thought better of it: nothing was tried
    return back_to_page("failed=denied", tls);
  }
  try {
    const oidc::Identity identity =
        provider.finish(provider_cookie(call.request), call.asked("state"), call.asked("code"),
                        call.now_ns / kSecondNs);
    const std::string name = account_of(call, identity);
    call.noted = name;
    attempt.succeeded();
    // The page signs in with what the cookie has: then the session that the browser has is known
    // and ends, and who is signed in as another can be asked.
    return back_to_page("by=provider", tls,
                        call.context.accounts.make_link(name, call.now_ns, LinkBy::cookie));
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
