#include "rest/scope.h"

namespace assay::rest {

std::pair<accounts::Scope, std::string> scope_of(const Call& call) {
  const std::string& text = call.parameter(0);
  if (text == "own") return {accounts::Scope::own, call.caller().name};
  if (text == "all") return {accounts::Scope::all, ""};
  if (text.starts_with("team:")) {
    accounts::check_name(text.substr(5), "team");
    return {accounts::Scope::team, text.substr(5)};
  }
  throw serve::Refusal(404, "not_found", "there is no such scope", "own, team:NAME or all");
}

std::string scope_text(accounts::Scope scope, const std::string& of) {
  return scope == accounts::Scope::team ? "team:" + of : std::string(to_text(scope));
}

}  // namespace assay::rest
