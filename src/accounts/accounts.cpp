#include "accounts/accounts.h"

#include <fmt/format.h>

#include "accounts/account_store.h"
#include "accounts/password.h"
#include "accounts/secret.h"
#include "core/error.h"
#include "core/one_line.h"
#include "core/plain_name.h"
#include "core/text.h"
#include "database/migrate.h"

namespace assay::accounts {

using database::Statement;
using database::Transaction;

namespace {

constexpr std::size_t kMaxFullName = 200;

Error no_such_person(const std::string& name) {
  return {ErrorKind::usage, fmt::format("there is no user '{}'", printable(ellipsize(name, 64)))};
}

constexpr const char* kSelectPerson =
    "SELECT name, full_name, role, disabled, language, password IS NOT NULL, made_ns FROM people ";

Person person_of(const Statement& row) {
  const auto role = parse_enum<jobs::Role>(row.text(2));
  if (!role)
    throw Error(ErrorKind::environment,
                "the database of accounts is damaged: '" + printable(row.text(2)) + "'");
  return {.name = row.text(0),
          .full_name = row.text(1),
          .role = *role,
          .disabled = row.number(3) != 0,
          .language = row.text(4),
          .has_password = row.number(5) != 0,
          .made_ns = row.number(6)};
}

}  // namespace

void check_name(std::string_view name, std::string_view what) {
  if (!is_plain_name(name))
    throw Error(ErrorKind::usage,
                fmt::format("not a valid name of a {}: '{}'", what, ellipsize(printable(name), 64)),
                {}, kPlainNames);
}

Accounts::Accounts(const std::filesystem::path& file)
    : database_(file, {.wait = database::kWaitOfServers}),
      secrets_key_(file.parent_path() / kSecretsKey) {
  database::migrate(database_, kAccountSchema);
  (void)nobodys_hash();  // not with the first wrong name, which would take longer
}

std::vector<Person> Accounts::people() {
  const std::scoped_lock lock(lock_);
  std::vector<Person> out;
  Statement rows = database_.prepare(std::string(kSelectPerson) + "ORDER BY name");
  while (rows.step()) out.push_back(person_of(rows));
  Statement teams = database_.prepare("SELECT person, team FROM members ORDER BY person, team");
  auto at = out.begin();
  while (teams.step()) {
    while (at != out.end() && at->name < teams.text(0)) ++at;
    if (at == out.end()) break;
    if (at->name == teams.text(0)) at->teams.push_back(teams.text(1));
  }
  return out;
}

std::optional<Person> Accounts::find(const std::string& name) {
  const std::scoped_lock lock(lock_);
  Statement row = database_.prepare(std::string(kSelectPerson) + "WHERE name = ?1");
  if (!row.bind(1, name).step()) return std::nullopt;
  Person out = person_of(row);
  Statement teams = database_.prepare("SELECT team FROM members WHERE person = ?1 ORDER BY team");
  teams.bind(1, name);
  while (teams.step()) out.teams.push_back(teams.text(0));
  return out;
}

bool Accounts::has_an_admin() {
  Statement admins =
      database_.prepare("SELECT 1 FROM people WHERE role = 'admin' AND disabled = 0");
  return admins.step();
}

void Accounts::keep_an_admin() {
  if (has_an_admin()) return;
  Statement anybody = database_.prepare("SELECT 1 FROM people");
  if (anybody.step())
    throw Error(ErrorKind::usage, "there would be no administrator left", {},
                "make another user an administrator first");
}

void Accounts::put(const Person& person, WallTime now_ns) {
  check_name(person.name, "user");
  if (!is_one_line(person.full_name) || code_points(person.full_name) > kMaxFullName)
    throw Error(ErrorKind::usage, "not a valid full name", {},
                fmt::format("one line of at most {} characters, without control characters and "
                            "marks of direction",
                            kMaxFullName));
  if (!person.language.empty() && person.language != "en" && person.language != "zh")
    throw Error(ErrorKind::usage, "not a known language", {}, "one of: en, zh");
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  refuse_taken_name(person.name);
  database_
      .prepare(
          "INSERT INTO people (name, full_name, role, disabled, language, made_ns)"
          " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (name) DO UPDATE SET"
          " full_name = ?2, role = ?3, disabled = ?4, language = ?5")
      .bind(1, person.name)
      .bind(2, person.full_name)
      .bind(3, to_text(person.role))
      .bind(4, std::int64_t{person.disabled})
      .bind(5, person.language)
      .bind(6, now_ns)
      .run();
  if (person.disabled) {
    database_.prepare("DELETE FROM sessions WHERE person = ?1").bind(1, person.name).run();
    database_.prepare("DELETE FROM links WHERE person = ?1").bind(1, person.name).run();
  }
  keep_an_admin();
  transaction.commit();
}

void Accounts::refuse_taken_name(const std::string& name) {
  Statement known = database_.prepare("SELECT 1 FROM people WHERE name = ?1");
  if (known.bind(1, name).step()) return;
  Statement alike = database_.prepare("SELECT name FROM people WHERE name = ?1 COLLATE NOCASE");
  if (alike.bind(1, name).step())
    throw Error(
        ErrorKind::usage,
        fmt::format("there is a user '{}' already, and names that differ in capital letters "
                    "alone are taken for each other",
                    alike.text(0)));
  Statement row = database_.prepare("SELECT 1 FROM former_names WHERE name = ?1 COLLATE NOCASE");
  if (row.bind(1, name).step())
    throw Error(ErrorKind::usage,
                fmt::format("the name '{}' was somebody's who has been deleted", name), {},
                "their jobs and uploads still have it: choose another name; who is only to stay "
                "away for a while is disabled, not deleted");
}

void Accounts::require_person(const std::string& name) {
  Statement row = database_.prepare("SELECT 1 FROM people WHERE name = ?1");
  if (!row.bind(1, name).step()) throw no_such_person(name);
}

void Accounts::set_password(const std::string& name, std::string_view password,
                            std::string_view keep_session) {
  check_password(password);
  const std::string hash = hash_password(password);
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  require_person(name);
  database_.prepare("UPDATE people SET password = ?2 WHERE name = ?1")
      .bind(1, name)
      .bind(2, hash)
      .run();
  database_.prepare("DELETE FROM sessions WHERE person = ?1 AND sha256 <> ?2")
      .bind(1, name)
      .bind(2, kept(keep_session))
      .run();
  database_.prepare("DELETE FROM links WHERE person = ?1").bind(1, name).run();
  transaction.commit();
}

void Accounts::remove(const std::string& name) {
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  require_person(name);
  database_.prepare("DELETE FROM templates WHERE scope = 'own' AND owner = ?1").bind(1, name).run();
  database_.prepare("DELETE FROM secrets WHERE scope = 'own' AND owner = ?1").bind(1, name).run();
  database_.prepare("DELETE FROM people WHERE name = ?1").bind(1, name).run();
  database_.prepare("INSERT OR IGNORE INTO former_names (name) VALUES (?1)").bind(1, name).run();
  keep_an_admin();
  transaction.commit();
}

std::vector<std::string> Accounts::members(const std::string& team) {
  const std::scoped_lock lock(lock_);
  Statement rows = database_.prepare("SELECT person FROM members WHERE team = ?1 ORDER BY person");
  rows.bind(1, team);
  std::vector<std::string> out;
  while (rows.step()) out.push_back(rows.text(0));
  return out;
}

void Accounts::set_members(const std::string& team, const std::vector<std::string>& names) {
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  database_.prepare("DELETE FROM members WHERE team = ?1").bind(1, team).run();
  for (const std::string& name : names) {
    require_person(name);
    database_.prepare("INSERT OR IGNORE INTO members (team, person) VALUES (?1, ?2)")
        .bind(1, team)
        .bind(2, name)
        .run();
  }
  transaction.commit();
}

void Accounts::copy_to(const std::filesystem::path& file) {
  const std::scoped_lock lock(lock_);
  database_.prepare("VACUUM INTO ?1").bind(1, file.string()).run();
}

}  // namespace assay::accounts
