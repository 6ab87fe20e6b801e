#include <algorithm>

#include <fmt/format.h>

#include "accounts/accounts.h"
#include "accounts/sealed_text.h"
#include "accounts/secret.h"
#include "core/error.h"
#include "core/text.h"
#include "core/utf8_text.h"

namespace assay::accounts {

using database::Statement;
using database::Transaction;

namespace {

// What a sealed value is bound to: nobody can put one in another's place, not even in the file.
std::string place_of(Scope scope, std::string_view of, std::string_view name) {
  return fmt::format("assay secret\n{}\n{}\n{}", to_text(scope), of, name);
}

void check_value(std::string_view value) {
  if (value.empty()) throw Error(ErrorKind::usage, "the value of the secret is empty");
  if (value.size() > kMaxSecretValue)
    throw Error(ErrorKind::usage,
                fmt::format("a secret has at most 32 KiB; this one has {} bytes", value.size()), {},
                "it becomes a variable of the job's environment, which has no room for more");
  if (!is_utf8_text(value))
    throw Error(ErrorKind::usage, "a secret is UTF-8 text without NUL characters", {},
                "encode what is not text, such as with 'base64', and decode it in the job");
}

Error no_such_secret(const std::string& name, const std::string& team) {
  return {ErrorKind::usage,
          team.empty() ? fmt::format("you keep no secret '{}'", printable(ellipsize(name, 64)))
                       : fmt::format("neither you nor the team '{}' keeps a secret '{}'",
                                     printable(team), printable(ellipsize(name, 64))),
          {},
          "'assay secret set' keeps one"};
}

}  // namespace

std::vector<Secret> Accounts::secrets(const std::string& user,
                                      const std::vector<std::string>& teams) {
  const std::scoped_lock lock(lock_);
  std::vector<Secret> out;
  std::optional<std::string> key;
  try {
    key = read_key(secrets_key_);
  } catch (const Error&) {
    // Then none of them can be used, and jobs that want one say why.
  }
  const auto add = [&](Scope scope, const std::string& of) {
    Statement rows = database_.prepare(
        "SELECT name, author, changed_ns, sealed FROM secrets"
        " WHERE scope = ?1 AND owner = ?2 ORDER BY name");
    rows.bind(1, to_text(scope)).bind(2, of);
    while (rows.step()) {
      const std::string name = rows.text(0);
      const bool usable =
          key && open_sealed(*key, rows.text(3), place_of(scope, of, name)).has_value();
      out.push_back({scope, of, name, rows.text(1), rows.number(2), usable});
    }
  };
  add(Scope::own, user);
  for (const std::string& team : teams) add(Scope::team, team);
  return out;
}

void Accounts::put_secret(const Secret& made, std::string_view value) {
  check_name(made.name, "secret");
  check_value(value);
  const std::scoped_lock lock(lock_);
  const std::string sealed =
      seal(read_or_make_key(secrets_key_), value, place_of(made.scope, made.of, made.name));
  Transaction transaction(database_);
  if (made.scope == Scope::own) require_person(made.of);
  Statement count = database_.prepare(
      "SELECT COUNT(*) FROM secrets WHERE scope = ?1 AND owner = ?2 AND name <> ?3");
  if (count.bind(1, to_text(made.scope)).bind(2, made.of).bind(3, made.name).step() &&
      count.number(0) >= kMaxSecrets)
    throw Error(ErrorKind::usage, "there are too many secrets", {},
                "remove those that are not used");
  count.reset();
  database_
      .prepare(
          "INSERT INTO secrets (scope, owner, name, sealed, author, changed_ns)"
          " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (scope, owner, name) DO UPDATE SET"
          " sealed = ?4, author = ?5, changed_ns = ?6")
      .bind(1, to_text(made.scope))
      .bind(2, made.of)
      .bind(3, made.name)
      .bind(4, sealed)
      .bind(5, made.author)
      .bind(6, made.changed_ns)
      .run();
  transaction.commit();
}

bool Accounts::remove_secret(Scope scope, const std::string& of, const std::string& name) {
  const std::scoped_lock lock(lock_);
  database_.prepare("DELETE FROM secrets WHERE scope = ?1 AND owner = ?2 AND name = ?3")
      .bind(1, to_text(scope))
      .bind(2, of)
      .bind(3, name)
      .run();
  return database_.changes() > 0;
}

std::string Accounts::secret_for(const std::string& user, const std::string& team,
                                 const std::string& name) {
  const std::scoped_lock lock(lock_);
  Scope scope = Scope::own;
  std::string of = user;
  const auto sealed_of = [&]() -> std::optional<std::string> {
    Statement row = database_.prepare(
        "SELECT sealed FROM secrets WHERE scope = ?1 AND owner = ?2 AND name = ?3");
    row.bind(1, to_text(scope)).bind(2, of).bind(3, name);
    return row.step() ? std::optional(row.text(0)) : std::nullopt;
  };
  std::optional<std::string> sealed = sealed_of();
  if (!sealed && !team.empty()) {
    scope = Scope::team;
    of = team;
    Statement member = database_.prepare("SELECT 1 FROM members WHERE team = ?1 AND person = ?2");
    if (member.bind(1, team).bind(2, user).step()) sealed = sealed_of();
  }
  if (!sealed) throw no_such_secret(name, team);
  const std::optional<std::string> key = read_key(secrets_key_);
  auto value = key ? open_sealed(*key, *sealed, place_of(scope, of, name)) : std::nullopt;
  if (!value)
    throw Error(ErrorKind::environment,
                fmt::format("the secret '{}' cannot be decrypted: the key that it was kept with is "
                            "not there",
                            printable(name)),
                {}, "give it a value anew, or have the administrator put secrets.key back");
  return std::move(*value);
}

void Accounts::forget_team(const std::string& team) {
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  database_.prepare("DELETE FROM members WHERE team = ?1").bind(1, team).run();
  database_.prepare("DELETE FROM secrets WHERE scope = 'team' AND owner = ?1").bind(1, team).run();
  transaction.commit();
}

}  // namespace assay::accounts
