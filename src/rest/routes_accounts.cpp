#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_fields.h"
#include "core/text.h"
#include "rest/call.h"
#include "rest/change_guard.h"
#include "rest/scope.h"
#include "rest/shown_submission.h"

namespace assay::rest {

using jobs::Deed;

namespace {

Json changeable_user(const accounts::Person& person) {
  return {{"full_name", person.full_name},
          {"role", to_text(person.role)},
          {"disabled", person.disabled},
          {"language", person.language}};
}

Json user_json(const accounts::Person& person) {
  Json out = {{"name", person.name}};
  out.update(changeable_user(person));
  out["password_set"] = person.has_password;
  out["teams"] = person.teams;
  out["made"] = time_json(person.made_ns);
  out["etag"] = etag_of(changeable_user(person));
  return out;
}

serve::HttpResponse users(Call& call) {
  Json out = Json::array();
  for (const accounts::Person& person : call.context.accounts.people())
    out.push_back(user_json(person));
  return json_answer({{"users", out}});
}

serve::HttpResponse put_user(Call& call) {
  accounts::Accounts& accounts = call.context.accounts;
  const std::string& name = call.parameter(0);
  check_same_name(call);
  std::unique_lock lock(call.context.settings);
  const auto before = accounts.find(name);
  accounts::Person person = before.value_or(accounts::Person{.name = name});
  const bool rules = call.caller().may(Deed::write_user, jobs::Whose::foreign);
  std::optional<std::string> password;
  for (const auto& [key, value] : call.body.items()) {
    if (key == "full_name") {
      person.full_name = serve::text_field(call.body, "full_name", 1000);
    } else if (key == "language") {
      person.language = serve::text_field(call.body, "language", 20);
    } else if (key == "password") {
      if (value.is_null()) continue;
      if (!value.is_string()) throw serve::Refusal(400, "bad_field", "'password' must be text");
      password = value.get<std::string>();
    } else if (key == "role") {
      json_fields_detail::decode(value, person.role, "role");
    } else if (key == "disabled") {
      json_fields_detail::decode(value, person.disabled, "disabled");
    } else if (key != "name") {
      throw serve::Refusal(400, "bad_field",
                           "there is no field '" + ellipsize(printable(key), 64) + "'",
                           "one of: full_name, role, password, disabled, language");
    }
  }
  const bool own = name == call.caller().name;
  if ((own || !rules) && before &&
      (person.role != before->role || person.disabled != before->disabled))
    throw forbidden("change your own role, or disable yourself");
  // Who has found a token must not take over the account with it.
  if (password && own && call.caller().session.empty())
    throw forbidden("change your own password with a token: sign in for that");
  check_unchanged(call, before ? changeable_user(*before) : Json());
  accounts.put(person, call.now_ns);
  lock.unlock();
  if (password) accounts.set_password(name, *password, call.caller().session);
  call.context.streams.ask_now();
  call.context.platform.reconsider();
  return json_answer(user_json(accounts.find(name).value_or(person)), before ? 200 : 201);
}

serve::HttpResponse delete_user(Call& call) {
  const std::string& name = call.parameter(0);
  const std::scoped_lock lock(call.context.settings);
  const auto found = call.context.accounts.find(name);
  if (!found) throw not_found("there is no such user");
  if (!call.caller().may(Deed::write_user, jobs::Whose::foreign)) throw forbidden("delete users");
  check_unchanged(call, changeable_user(*found));
  try {
    call.context.accounts.remove(name);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    throw serve::Refusal(409, "does_not_fit", error.message(), error.advice());
  }
  call.context.streams.ask_now();
  call.context.platform.reconsider();
  return json_answer(Json::object());
}

serve::HttpResponse tokens(Call& call) {
  Json out = Json::array();
  for (const accounts::Token& token : call.context.accounts.tokens(call.caller().name))
    out.push_back({{"name", token.name},
                   {"made", time_json(token.made_ns)},
                   {"expires", time_json(token.expires_ns)},
                   {"used", time_json(token.used_ns)}});
  return json_answer({{"tokens", out}});
}

serve::HttpResponse make_token(Call& call) {
  const std::string name = serve::text_field(call.body, "name", 64);
  jobs::WallTime expires_ns = 0;
  if (const std::string text = serve::text_field(call.body, "expires", 64); !text.empty()) {
    const auto at_ns = parse_time(text);
    if (!at_ns)
      throw serve::Refusal(400, "bad_field", "'expires' is not a time",
                           "such as 2026-12-31T00:00:00Z");
    expires_ns = *at_ns;
  }
  // Who has found a token must not keep what it opens for longer than it does.
  if (call.caller().session.empty() && call.caller().expires_ns != 0 &&
      (expires_ns == 0 || expires_ns > call.caller().expires_ns))
    throw forbidden("make a token with a token that expires earlier: sign in for that");
  const std::string token = call.context.accounts.make_token(call.caller().name, name, expires_ns,
                                                             call.now_ns, call.caller().by);
  return json_answer({{"name", name}, {"token", token}, {"expires", time_json(expires_ns)}}, 201);
}

serve::HttpResponse revoke_token(Call& call) {
  const std::string asked = call.asked("owner");
  const std::string owner = asked.empty() ? call.caller().name : asked;
  if (owner != call.caller().name && !call.caller().may(Deed::revoke_token, jobs::Whose::foreign))
    throw forbidden("revoke a token of somebody else");
  if (!call.context.accounts.revoke_token(owner, call.parameter(0)))
    throw not_found("there is no such token");
  call.context.streams.ask_now();
  return json_answer(Json::object());
}

Json changeable_template(const accounts::Template& one) {
  return {{"content", one.content}};
}

Json template_json(const accounts::Template& one) {
  return {{"scope", scope_text(one.scope, one.of)},
          {"name", one.name},
          {"content", one.content},
          {"author", one.author},
          {"changed", time_json(one.changed_ns)},
          {"etag", etag_of(changeable_template(one))}};
}

serve::HttpResponse templates(Call& call) {
  Json out = Json::array();
  for (const auto& one : call.context.accounts.templates(call.caller().name, call.caller().teams))
    out.push_back(template_json(one));
  return json_answer({{"templates", out}});
}

// What there is of the template in the address; null: nothing.
Json template_there(Call& call, accounts::Scope scope, const std::string& of) {
  const std::vector<std::string> teams =
      scope == accounts::Scope::team ? std::vector{of} : std::vector<std::string>{};
  for (const auto& one : call.context.accounts.templates(call.caller().name, teams))
    if (one.scope == scope && one.name == call.parameter(1)) return changeable_template(one);
  return {};
}

serve::HttpResponse put_template(Call& call) {
  const auto [scope, of] = scope_of(call);
  const std::vector<jobs::Team> teams = call.context.platform.settings().teams;
  if (scope == accounts::Scope::team &&
      std::ranges::find(teams, of, &jobs::Team::name) == teams.end() &&
      call.context.accounts.members(of).empty())
    throw not_found("there is no such team");
  // Not complete is fine; what is there must be known and of its type.
  Json complete = call.body;
  if (!complete.contains("name")) complete["name"] = "a template";
  if (!complete.contains("suite") && !complete.contains("command")) complete["command"] = "true";
  auto read = jobs::read_submission(complete);
  if (read.problems.empty() && scope != accounts::Scope::own)
    for (const std::string& path : secrets_of(read.submission))
      read.problems.push_back(
          {path, "others would see this value: leave it out, for each to give their own"});
  if (!read.problems.empty()) {
    serve::Refusal refusal(422, "problems",
                           "the template has " + counted(read.problems.size(), "problem"));
    for (const jobs::Problem& problem : read.problems)
      refusal.problems.push_back(fields_to_json(problem));
    throw refusal;
  }
  const accounts::Template made{scope,      of, call.parameter(1), call.body, call.caller().name,
                                call.now_ns};
  const std::scoped_lock lock(call.context.settings);
  check_unchanged(call, template_there(call, scope, of));
  call.context.accounts.put_template(made);
  return json_answer(template_json(made));
}

serve::HttpResponse delete_template(Call& call) {
  const auto [scope, of] = scope_of(call);
  const std::scoped_lock lock(call.context.settings);
  const Json now = template_there(call, scope, of);
  if (now.is_null()) throw not_found("there is no such template");
  check_unchanged(call, now);
  (void)call.context.accounts.remove_template(scope, of, call.parameter(1));
  return json_answer(Json::object());
}

}  // namespace

std::vector<Route> account_routes() {
  return {
      {.method = "GET",
       .path = "/api/v1/users",
       .handler = users,
       .deed = Deed::write_user,
       .summary = "All users",
       .answer = "Users"},
      {.method = "PUT",
       .path = "/api/v1/users/{name}",
       .handler = put_user,
       .deed = Deed::write_user,
       .of = Of::user,
       .summary = "Make or change a user; of oneself name, language and password",
       .answer = "User",
       .request = "UserChange",
       .body = Body::json,
       .made = 201,
       .guarded = true},
      {.method = "DELETE",
       .path = "/api/v1/users/{name}",
       .handler = delete_user,
       .deed = Deed::write_user,
       .of = Of::user,
       .summary = "Delete a user; their jobs stay",
       .answer = "Empty",
       .guarded = true},
      {.method = "GET",
       .path = "/api/v1/tokens",
       .handler = tokens,
       .deed = Deed::make_token,
       .of = Of::self,
       .summary = "One's own API tokens",
       .answer = "Tokens"},
      {.method = "POST",
       .path = "/api/v1/tokens",
       .handler = make_token,
       .deed = Deed::make_token,
       .of = Of::self,
       .summary = "Make an API token; it is shown this once",
       .answer = "NewToken",
       .request = "TokenRequest",
       .body = Body::json,
       .status = 201},
      {.method = "DELETE",
       .path = "/api/v1/tokens/{name}",
       .handler = revoke_token,
       .deed = Deed::revoke_token,
       .of = Of::self,
       .summary = "Revoke a token",
       .answer = "Empty",
       .query = {{"owner", "string", "whose; for administrators"}}},
      {.method = "GET",
       .path = "/api/v1/templates",
       .handler = templates,
       .deed = Deed::read_template,
       .of = Of::self,
       .summary = "Templates: one's own, one's teams' and everybody's",
       .answer = "Templates"},
      {.method = "PUT",
       .path = "/api/v1/templates/{scope}/{name}",
       .handler = put_template,
       .deed = Deed::write_template,
       .of = Of::scope,
       .summary = "Make or change a template; the scope is own, team:NAME or all",
       .answer = "Template",
       .request = "Submission",
       .body = Body::json,
       .max_body = 1U << 20,
       .guarded = true},
      {.method = "DELETE",
       .path = "/api/v1/templates/{scope}/{name}",
       .handler = delete_template,
       .deed = Deed::write_template,
       .of = Of::scope,
       .summary = "Delete a template",
       .answer = "Empty",
       .guarded = true},
  };
}

}  // namespace assay::rest
