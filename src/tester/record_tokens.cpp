#include <algorithm>

#include <openssl/crypto.h>

#include "core/error.h"
#include "core/sha256.h"
#include "core/time.h"
#include "serve/random_text.h"
#include "tester/records.h"

namespace assay::tester {

namespace {

bool is_token_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace

std::string Records::add_token(const std::string& name) {
  if (!is_token_name(name))
    throw Error(ErrorKind::usage, "not a valid name for a token", {},
                "up to 64 letters, digits, '-', '_' and '.'");
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  Statement taken = database_.prepare("SELECT revoked FROM tokens WHERE name = ?1");
  if (taken.bind(1, name).step())
    throw Error(ErrorKind::usage, "there is a token named '" + name + "' already", {},
                "choose another name: tests keep the name of the token that sent them");
  taken.reset();
  std::string token = "assay-" + serve::random_hex(32);
  database_.prepare("INSERT INTO tokens (name, sha256, created) VALUES (?1, ?2, ?3)")
      .bind(1, name)
      .bind(2, sha256(token))
      .bind(3, iso_utc(wall_now_ns()))
      .run();
  transaction.commit();
  return token;
}

void Records::revoke_token(const std::string& name) {
  const std::scoped_lock lock(lock_);
  database_.prepare("UPDATE tokens SET revoked = coalesce(revoked, ?2) WHERE name = ?1")
      .bind(1, name)
      .bind(2, iso_utc(wall_now_ns()))
      .run();
  if (database_.changes() == 0)
    throw Error(ErrorKind::usage, "there is no token named '" + name + "'", {},
                "'assay serve token list' shows them");
}

std::vector<TokenRecord> Records::tokens() {
  const std::scoped_lock lock(lock_);
  std::vector<TokenRecord> out;
  Statement rows = database_.prepare("SELECT name, created, revoked FROM tokens ORDER BY name");
  while (rows.step()) out.push_back({rows.text(0), rows.text(1), rows.text(2)});
  return out;
}

std::optional<std::string> Records::token_name(const std::string& token) {
  const std::string hash = sha256(token);
  const std::scoped_lock lock(lock_);
  std::optional<std::string> name;
  Statement rows = database_.prepare("SELECT name, sha256 FROM tokens WHERE revoked IS NULL");
  while (rows.step()) {
    const std::string stored = rows.text(1);
    if (stored.size() == hash.size() && CRYPTO_memcmp(stored.data(), hash.data(), hash.size()) == 0)
      name = rows.text(0);
  }
  return name;
}

std::string Records::rotate_token(const std::string& name) {
  const std::scoped_lock lock(lock_);
  std::string token = "assay-" + serve::random_hex(32);
  database_.prepare("UPDATE tokens SET sha256 = ?2, revoked = NULL WHERE name = ?1")
      .bind(1, name)
      .bind(2, sha256(token))
      .run();
  if (database_.changes() == 0)
    throw Error(ErrorKind::usage, "there is no token named '" + name + "'", {},
                "'assay serve token list' shows them");
  return token;
}

void Records::adopt_token(const StoredToken& token) {
  const std::scoped_lock lock(lock_);
  Statement insert = database_.prepare(
      "INSERT OR IGNORE INTO tokens (name, sha256, created, revoked) VALUES (?1, ?2, ?3, ?4)");
  insert.bind(1, token.record.name).bind(2, token.sha256).bind(3, token.record.created);
  if (!token.record.revoked.empty()) insert.bind(4, token.record.revoked);
  insert.run();
}

std::vector<StoredToken> read_tokens(const std::filesystem::path& file) {
  std::vector<StoredToken> out;
  try {
    Database database(file);
    Statement rows = database.prepare("SELECT name, sha256, created, revoked FROM tokens");
    while (rows.step()) out.push_back({{rows.text(0), rows.text(2), rows.text(3)}, rows.text(1)});
  } catch (const Error&) {
    // Returns what could be read.
  }
  return out;
}

}  // namespace assay::tester
