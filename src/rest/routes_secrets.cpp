#include "core/text.h"
#include "rest/call.h"
#include "rest/change_guard.h"
#include "rest/scope.h"

namespace assay::rest {

using jobs::Deed;

namespace {

// A value has 32 KiB at most, of which JSON can make six times as much.
constexpr std::size_t kMaxSecretBody = 256U << 10;

Json changeable_secret(const accounts::Secret& one) {
  return {{"author", one.author}, {"changed", time_json(one.changed_ns)}};
}

Json secret_json(const accounts::Secret& one) {
  Json out = {{"scope", scope_text(one.scope, one.of)}, {"name", one.name}};
  out.update(changeable_secret(one));
  out["usable"] = one.usable;
  out["etag"] = etag_of(changeable_secret(one));
  return out;
}

serve::HttpResponse secrets(Call& call) {
  Json out = Json::array();
  for (const auto& one : call.context.accounts.secrets(call.caller().name, call.caller().teams))
    out.push_back(secret_json(one));
  return json_answer({{"secrets", out}});
}

// Everybody's is no secret.
std::pair<accounts::Scope, std::string> own_or_team(const Call& call) {
  const auto scope = scope_of(call);
  if (scope.first == accounts::Scope::all)
    throw serve::Refusal(404, "not_found", "there is no such scope", "own or team:NAME");
  return scope;
}

std::optional<accounts::Secret> secret_there(Call& call, accounts::Scope scope,
                                             const std::string& of) {
  const std::vector<std::string> teams =
      scope == accounts::Scope::team ? std::vector{of} : std::vector<std::string>{};
  for (const auto& one : call.context.accounts.secrets(call.caller().name, teams))
    if (one.scope == scope && one.name == call.parameter(1)) return one;
  return std::nullopt;
}

serve::HttpResponse put_secret(Call& call) {
  const auto [scope, of] = own_or_team(call);
  check_same_name(call);
  for (const auto& [key, value] : call.body.items())
    if (key != "value" && key != "name")
      throw serve::Refusal(400, "bad_field",
                           "there is no field '" + ellipsize(printable(key), 64) + "'",
                           "one of: value");
  const auto value = call.body.find("value");
  if (value == call.body.end() || !value->is_string())
    throw serve::Refusal(400, "bad_field", "'value' must be text");
  const accounts::Secret made{scope, of, call.parameter(1), call.caller().name, call.now_ns};
  const std::scoped_lock lock(call.context.settings);
  const auto before = secret_there(call, scope, of);
  check_unchanged(call, before ? changeable_secret(*before) : Json());
  call.context.accounts.put_secret(made, value->get_ref<const std::string&>());
  return json_answer(secret_json(made), before ? 200 : 201);
}

serve::HttpResponse delete_secret(Call& call) {
  const auto [scope, of] = own_or_team(call);
  const std::scoped_lock lock(call.context.settings);
  const auto now = secret_there(call, scope, of);
  if (!now) throw not_found("there is no such secret");
  check_unchanged(call, changeable_secret(*now));
  (void)call.context.accounts.remove_secret(scope, of, now->name);
  return json_answer(Json::object());
}

}  // namespace

std::vector<Route> secret_routes() {
  return {
      {.method = "GET",
       .path = "/api/v1/secrets",
       .handler = secrets,
       .deed = Deed::list_secrets,
       .of = Of::self,
       .summary = "Names of secrets: one's own and one's teams'; nobody reads a value",
       .answer = "Secrets"},
      {.method = "PUT",
       .path = "/api/v1/secrets/{scope}/{name}",
       .handler = put_secret,
       .deed = Deed::write_secret,
       .of = Of::scope,
       .summary = "Keep a secret for jobs, or give it another value; the scope is own or team:NAME",
       .answer = "Secret",
       .request = "SecretValue",
       .body = Body::json,
       .max_body = kMaxSecretBody,
       .made = 201,
       .guarded = true},
      {.method = "DELETE",
       .path = "/api/v1/secrets/{scope}/{name}",
       .handler = delete_secret,
       .deed = Deed::write_secret,
       .of = Of::scope,
       .summary = "Remove a secret; jobs that name it do not start any more",
       .answer = "Empty",
       .guarded = true},
  };
}

}  // namespace assay::rest
