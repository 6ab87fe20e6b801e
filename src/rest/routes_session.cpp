#include <algorithm>

#include "core/text.h"
#include "core/time.h"
#include "rest/call.h"
#include "rest/guard.h"

namespace assay::rest {

using accounts::LinkBy;

namespace {

Json session_json(Call& call, const std::string& user, const std::string& csrf,
                  jobs::WallTime expires_ns) {
  const auto person = call.context.accounts.find(user);
  if (!person) throw not_found("there is no such user");
  return {{"user", person->name},
          {"full_name", person->full_name},
          {"role", to_text(person->role)},
          {"teams", person->teams},
          {"language", person->language},
          {"password_set", person->has_password},
          {"csrf", csrf},
          {"expires", time_json(expires_ns)}};
}

// A link in the body is one that somebody was given. What a sign-in by a provider has ended with is
// in the browser's cookie alone: {"by": "provider"}.
struct Link {
  std::string secret{};  ///< empty: there is none
  LinkBy by = LinkBy::address;

  [[nodiscard]] SignInWay way() const {
    return by == LinkBy::cookie ? SignInWay::provider : SignInWay::link;
  }
};

Link link_of(const Call& call) {
  const std::string way = serve::text_field(call.body, "by", 20);
  if (way.empty()) return {serve::text_field(call.body, "link", 200), LinkBy::address};
  if (way != "provider") throw serve::Refusal(400, "bad_field", "'by' must be 'provider'");
  const std::string kept = provider_cookie(call.request);
  if (kept.empty())
    throw serve::Refusal(400, "not_begun", "this browser has not signed in at the provider",
                         "begin again");
  return {kept, LinkBy::cookie};
}

serve::HttpResponse preview_link(Call& call) {
  const Link link = link_of(call);
  // Whoever looks at a link (a chat does, before it is clicked) has not tried to sign in.
  limit_sign_in_step(call, link.way());
  const auto name = call.context.accounts.link_owner(link.secret, call.now_ns, link.by);
  if (!name)
    throw serve::Refusal(404, "wrong_link", "the link is not valid any more",
                         "'assay serve link' prints a new one");
  return json_answer({{"user", *name}});
}

serve::HttpResponse sign_in(Call& call) {
  accounts::Accounts& accounts = call.context.accounts;
  const Link link = link_of(call);
  std::optional<accounts::NewSession> made;
  std::optional<SignInAttempt> attempt;
  if (!link.secret.empty()) {
    call.noted = "a link";
    attempt.emplace(call, link.way());
    made = accounts.sign_in_by_link(link.secret, call.now_ns, link.by);
  } else {
    const std::string name = serve::text_field(call.body, "name", 200);
    const auto password = call.body.find("password");
    if (password == call.body.end() || !password->is_string())
      throw serve::Refusal(400, "bad_field", "'name' and 'password', or 'link', must be there");
    attempt.emplace(call, SignInWay::password, ellipsize(name, 64));
    made = accounts.sign_in(name, password->get_ref<const std::string&>(), call.now_ns);
    // What was typed in the wrong field is not written down.
    call.noted = accounts.find(name) ? name : "somebody unknown";
  }
  if (!made)
    throw serve::Refusal(401, "wrong_password",
                         link.secret.empty() ? "the name or the password is wrong"
                                             : "the link is not valid any more",
                         link.secret.empty() ? "" : "'assay serve link' prints a new one");
  attempt->succeeded();
  // Whatever session the browser had ends.
  if (const std::string before = session_cookie(call.request); !before.empty())
    accounts.sign_out(before);
  call.context.streams.ask_now();
  call.noted = made->session.user;
  serve::HttpResponse response = json_answer(
      session_json(call, made->session.user, made->session.csrf, made->session.expires_ns));
  response.headers.emplace_back("Set-Cookie", set_session(made->secret, call.context.tls));
  if (link.by == LinkBy::cookie)
    response.headers.emplace_back("Set-Cookie", set_provider("", 0, call.context.tls));
  return response;
}

serve::HttpResponse show_session(Call& call) {
  const Caller& caller = call.caller();
  return json_answer(session_json(call, caller.name, caller.csrf, caller.expires_ns));
}

serve::HttpResponse sign_out(Call& call) {
  if (call.caller().session.empty())
    throw serve::Refusal(400, "no_session", "a token has no session",
                         "DELETE /api/v1/tokens/NAME revokes it");
  if (const std::string everywhere = call.asked("everywhere");
      everywhere == "1" || everywhere == "true") {
    call.context.accounts.sign_out_everywhere(call.caller().name);
  } else {
    call.context.accounts.sign_out(call.caller().session);
  }
  call.context.streams.ask_now();
  serve::HttpResponse response = json_answer(Json::object());
  response.headers.emplace_back("Set-Cookie", forget_session(call.context.tls));
  return response;
}

}  // namespace

std::vector<Route> session_routes() {
  return {
      {.method = "POST",
       .path = "/api/v1/session",
       .handler = sign_in,
       .who = Who::anyone,
       .summary = "Sign in, by name and password or by a one-time link",
       .answer = "Session",
       .request = "SignIn",
       .body = Body::json,
       .max_body = 4096},
      {.method = "POST",
       .path = "/api/v1/session/preview",
       .handler = preview_link,
       .who = Who::anyone,
       .summary = "Whom a one-time link would sign in; it stays good",
       .answer = "SignInPreview",
       .request = "SignIn",
       .body = Body::json,
       .max_body = 4096},
      {.method = "GET",
       .path = "/api/v1/session",
       .handler = show_session,
       .who = Who::signed_in,
       .summary = "Who is signed in",
       .answer = "Session"},
      {.method = "DELETE",
       .path = "/api/v1/session",
       .handler = sign_out,
       .who = Who::signed_in,
       .summary = "Sign out",
       .answer = "Empty",
       .query = {{"everywhere", "boolean", "end all of one's sessions"}}},
  };
}

}  // namespace assay::rest
