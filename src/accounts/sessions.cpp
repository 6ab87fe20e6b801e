#include <fmt/format.h>

#include "accounts/accounts.h"
#include "accounts/password.h"
#include "accounts/secret.h"
#include "core/error.h"

namespace assay::accounts {

using database::Statement;
using database::Transaction;

namespace {

// The moment of the last use is written so often, not with every request.
constexpr WallTime kUseStep = Nanoseconds(std::chrono::minutes(1)).count();

// The way is part of what is kept, so that nobody can write one as the other.
std::string kept_link(std::string_view link, LinkBy by) {
  return kept((by == LinkBy::cookie ? "cookie:" : "address:") + std::string(link));
}

constexpr const char* kSelectLink =
    "SELECT person, expires_ns, disabled FROM links JOIN people ON people.name = person"
    " WHERE sha256 = ?1";

}  // namespace

// Within a transaction. A new secret whatever the browser had before: nobody can give somebody a
// session and use it when they have signed in.
NewSession Accounts::make_session(const std::string& name, WallTime now_ns) {
  database_.prepare("DELETE FROM sessions WHERE made_ns + ?1 < ?3 OR used_ns + ?2 < ?3")
      .bind(1, kSessionTime.count())
      .bind(2, kIdleTime.count())
      .bind(3, now_ns)
      .run();
  database_
      .prepare(
          "DELETE FROM sessions WHERE person = ?1 AND sha256 NOT IN (SELECT sha256 FROM sessions"
          " WHERE person = ?1 ORDER BY made_ns DESC, sha256 LIMIT ?2)")
      .bind(1, name)
      .bind(2, static_cast<std::int64_t>(kMaxSessions) - 1)
      .run();
  NewSession out{.secret = new_secret(),
                 .session = {.user = name,
                             .csrf = new_secret(),
                             .expires_ns = now_ns + Nanoseconds(kSessionTime).count()}};
  database_
      .prepare(
          "INSERT INTO sessions (sha256, person, csrf, made_ns, used_ns)"
          " VALUES (?1, ?2, ?3, ?4, ?4)")
      .bind(1, kept(out.secret))
      .bind(2, name)
      .bind(3, out.session.csrf)
      .bind(4, now_ns)
      .run();
  return out;
}

std::optional<NewSession> Accounts::sign_in(const std::string& name, std::string_view password,
                                            WallTime now_ns) {
  std::string hash;
  {
    const std::scoped_lock lock(lock_);
    Statement row = database_.prepare("SELECT password FROM people WHERE name = ?1");
    if (row.bind(1, name).step()) hash = row.text(0);
  }
  const bool right = is_password(hash.empty() ? nobodys_hash() : hash, password);
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  // Again: the password may be another one by now.
  Statement row =
      database_.prepare("SELECT 1 FROM people WHERE name = ?1 AND password = ?2 AND disabled = 0");
  const bool still = row.bind(1, name).bind(2, hash).step();
  row.reset();
  if (!right || hash.empty() || !still) return std::nullopt;
  NewSession out = make_session(name, now_ns);
  transaction.commit();
  return out;
}

std::optional<std::string> Accounts::known_as(const std::string& issuer,
                                              const std::string& subject) {
  const std::scoped_lock lock(lock_);
  Statement row =
      database_.prepare("SELECT person FROM identities WHERE issuer = ?1 AND subject = ?2");
  if (!row.bind(1, issuer).bind(2, subject).step()) return std::nullopt;
  return row.text(0);
}

void Accounts::set_identity(const std::string& name, const std::string& issuer,
                            const std::string& subject) {
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  require_person(name);
  Statement row = database_.prepare(
      "SELECT 1 FROM identities WHERE issuer = ?1 AND person = ?2 AND subject != ?3");
  if (row.bind(1, issuer).bind(2, name).bind(3, subject).step())
    throw Error(ErrorKind::usage, "'" + name + "' is somebody else at " + issuer);
  row.reset();
  database_
      .prepare("INSERT OR REPLACE INTO identities (issuer, subject, person) VALUES (?1, ?2, ?3)")
      .bind(1, issuer)
      .bind(2, subject)
      .bind(3, name)
      .run();
  transaction.commit();
}

std::string Accounts::make_link(const std::string& name, WallTime now_ns, LinkBy by) {
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  require_person(name);
  database_.prepare("DELETE FROM links WHERE expires_ns < ?1").bind(1, now_ns).run();
  std::string link = new_secret();
  database_.prepare("INSERT INTO links (sha256, person, expires_ns) VALUES (?1, ?2, ?3)")
      .bind(1, kept_link(link, by))
      .bind(2, name)
      .bind(3, now_ns + Nanoseconds(kLinkTime).count())
      .run();
  transaction.commit();
  return link;
}

std::optional<std::string> Accounts::link_owner(std::string_view link, WallTime now_ns, LinkBy by) {
  const std::scoped_lock lock(lock_);
  Statement row = database_.prepare(kSelectLink);
  if (!row.bind(1, kept_link(link, by)).step()) return std::nullopt;
  if (now_ns > row.number(1) || row.number(2) != 0) return std::nullopt;
  return row.text(0);
}

std::optional<NewSession> Accounts::sign_in_by_link(std::string_view link, WallTime now_ns,
                                                    LinkBy by) {
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  const std::string key = kept_link(link, by);
  Statement row = database_.prepare(kSelectLink);
  if (!row.bind(1, key).step()) return std::nullopt;
  const std::string name = row.text(0);
  const bool fits = now_ns <= row.number(1) && row.number(2) == 0;
  row.reset();
  database_.prepare("DELETE FROM links WHERE sha256 = ?1").bind(1, key).run();
  std::optional<NewSession> out;
  if (fits) out = make_session(name, now_ns);
  transaction.commit();
  return out;
}

std::optional<Session> Accounts::session(std::string_view secret, WallTime now_ns) {
  if (secret.empty()) return std::nullopt;
  return session_of(kept(secret), now_ns);
}

std::optional<Session> Accounts::session_of(const std::string& key, WallTime now_ns) {
  const std::scoped_lock lock(lock_);
  Statement row = database_.prepare(
      "SELECT person, csrf, sessions.made_ns, used_ns, disabled FROM sessions"
      " JOIN people ON people.name = person WHERE sha256 = ?1");
  if (!row.bind(1, key).step() || row.number(4) != 0) return std::nullopt;
  const WallTime made_ns = row.number(2);
  const WallTime used_ns = row.number(3);
  Session out{.user = row.text(0),
              .csrf = row.text(1),
              .expires_ns = made_ns + Nanoseconds(kSessionTime).count()};
  row.reset();
  if (now_ns >= out.expires_ns || now_ns >= used_ns + Nanoseconds(kIdleTime).count()) {
    database_.prepare("DELETE FROM sessions WHERE sha256 = ?1").bind(1, key).run();
    return std::nullopt;
  }
  if (now_ns > used_ns + kUseStep)
    database_.prepare("UPDATE sessions SET used_ns = ?2 WHERE sha256 = ?1")
        .bind(1, key)
        .bind(2, now_ns)
        .run();
  return out;
}

void Accounts::sign_out(std::string_view secret) {
  const std::scoped_lock lock(lock_);
  database_.prepare("DELETE FROM sessions WHERE sha256 = ?1").bind(1, kept(secret)).run();
}

void Accounts::sign_out_everywhere(const std::string& name) {
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  database_.prepare("DELETE FROM sessions WHERE person = ?1").bind(1, name).run();
  database_.prepare("DELETE FROM links WHERE person = ?1").bind(1, name).run();
  transaction.commit();
}

bool Accounts::shut_out(const std::string& name) {
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  require_person(name);
  Statement row = database_.prepare("SELECT role FROM people WHERE name = ?1");
  const std::string before = row.bind(1, name).step() ? row.text(0) : std::string();
  row.reset();
  for (const char* table : {"sessions", "links", "tokens"})
    database_.prepare(fmt::format("DELETE FROM {} WHERE person = ?1", table)).bind(1, name).run();
  const auto set_role = [&](std::string_view role) {
    database_.prepare("UPDATE people SET role = ?2 WHERE name = ?1")
        .bind(1, name)
        .bind(2, role)
        .run();
  };
  set_role(to_text(jobs::Role::viewer));
  const bool fits = has_an_admin();
  if (!fits) set_role(before);
  transaction.commit();
  return fits;
}

std::string Accounts::make_token(const std::string& user, const std::string& name,
                                 WallTime expires_ns, WallTime now_ns, const Credential& with) {
  check_name(name, "token");
  if (expires_ns != 0 && expires_ns <= now_ns)
    throw Error(ErrorKind::usage, "the token would have expired already");
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  require_person(user);
  Statement count =
      database_.prepare("SELECT COUNT(*), SUM(name = ?2) FROM tokens WHERE person = ?1");
  if (count.bind(1, user).bind(2, name).step()) {
    if (count.number(1) > 0)
      throw Error(ErrorKind::usage, fmt::format("there is a token named '{}' already", name));
    if (count.number(0) >= static_cast<std::int64_t>(kMaxTokens))
      throw Error(ErrorKind::usage, fmt::format("a user has at most {} tokens", kMaxTokens), {},
                  "revoke those that are not used");
  }
  count.reset();
  std::string token = "assay-user-" + new_secret();
  database_
      .prepare(
          "INSERT INTO tokens (sha256, person, name, made_ns, expires_ns, used_ns, made_by)"
          " VALUES (?1, ?2, ?3, ?4, ?5, 0, NULLIF(?6, ''))")
      .bind(1, kept(token))
      .bind(2, user)
      .bind(3, name)
      .bind(4, now_ns)
      .bind(5, expires_ns)
      .bind(6, with.kind == Credential::Kind::token ? std::string_view(with.sha256) : "")
      .run();
  transaction.commit();
  return token;
}

std::vector<Token> Accounts::tokens(const std::string& user) {
  const std::scoped_lock lock(lock_);
  Statement rows = database_.prepare(
      "SELECT name, made_ns, expires_ns, used_ns FROM tokens WHERE person = ?1 ORDER BY name");
  rows.bind(1, user);
  std::vector<Token> out;
  while (rows.step()) out.push_back({rows.text(0), rows.number(1), rows.number(2), rows.number(3)});
  return out;
}

bool Accounts::revoke_token(const std::string& user, const std::string& name) {
  const std::scoped_lock lock(lock_);
  database_.prepare("DELETE FROM tokens WHERE person = ?1 AND name = ?2")
      .bind(1, user)
      .bind(2, name)
      .run();
  return database_.changes() > 0;
}

std::optional<Accounts::TokenUse> Accounts::token_use(std::string_view token, WallTime now_ns) {
  return token_use_of(kept(token), now_ns);
}

std::optional<Accounts::TokenUse> Accounts::token_use_of(const std::string& key, WallTime now_ns) {
  const std::scoped_lock lock(lock_);
  Statement row = database_.prepare(
      "SELECT person, expires_ns, used_ns, disabled FROM tokens"
      " JOIN people ON people.name = person WHERE sha256 = ?1");
  if (!row.bind(1, key).step() || row.number(3) != 0) return std::nullopt;
  if (row.number(1) != 0 && now_ns >= row.number(1)) return std::nullopt;
  TokenUse use{row.text(0), row.number(1)};
  const WallTime used_ns = row.number(2);
  row.reset();
  if (now_ns > used_ns + kUseStep)
    database_.prepare("UPDATE tokens SET used_ns = ?2 WHERE sha256 = ?1")
        .bind(1, key)
        .bind(2, now_ns)
        .run();
  return use;
}

std::optional<Person> Accounts::holder(const Credential& by, WallTime now_ns) {
  std::string user;
  if (by.kind == Credential::Kind::token) {
    if (const auto use = token_use_of(by.sha256, now_ns)) user = use->user;
  } else if (const auto session = session_of(by.sha256, now_ns)) {
    user = session->user;
  }
  if (user.empty() || user != by.user) return std::nullopt;
  auto person = find(user);
  if (!person || person->disabled) return std::nullopt;
  return person;
}

}  // namespace assay::accounts
