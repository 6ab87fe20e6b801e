#include "accounts/account_store.h"

namespace assay::accounts {

const std::array<std::string_view, 5> kAccountSchema{R"(
CREATE TABLE people (
  name TEXT PRIMARY KEY,
  full_name TEXT NOT NULL,
  role TEXT NOT NULL,
  disabled INTEGER NOT NULL,
  language TEXT NOT NULL,
  password TEXT,
  made_ns INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE sessions (
  sha256 TEXT PRIMARY KEY,
  person TEXT NOT NULL REFERENCES people (name) ON DELETE CASCADE,
  csrf TEXT NOT NULL,
  made_ns INTEGER NOT NULL,
  used_ns INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_by_person ON sessions (person, made_ns);
CREATE TABLE links (
  sha256 TEXT PRIMARY KEY,
  person TEXT NOT NULL REFERENCES people (name) ON DELETE CASCADE,
  expires_ns INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE tokens (
  sha256 TEXT PRIMARY KEY,
  person TEXT NOT NULL REFERENCES people (name) ON DELETE CASCADE,
  name TEXT NOT NULL,
  made_ns INTEGER NOT NULL,
  expires_ns INTEGER NOT NULL,
  used_ns INTEGER NOT NULL,
  UNIQUE (person, name)
) WITHOUT ROWID;
CREATE TABLE members (
  team TEXT NOT NULL,
  person TEXT NOT NULL REFERENCES people (name) ON DELETE CASCADE,
  PRIMARY KEY (team, person)
) WITHOUT ROWID;
CREATE INDEX members_by_person ON members (person);
CREATE TABLE templates (
  scope TEXT NOT NULL,
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  content TEXT NOT NULL,
  author TEXT NOT NULL,
  changed_ns INTEGER NOT NULL,
  PRIMARY KEY (scope, owner, name)
) WITHOUT ROWID;
CREATE TABLE shares (
  job INTEGER NOT NULL,
  person TEXT NOT NULL REFERENCES people (name) ON DELETE CASCADE,
  PRIMARY KEY (job, person)
) WITHOUT ROWID;
CREATE TABLE deeds (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ns INTEGER NOT NULL,
  who TEXT NOT NULL,
  address TEXT NOT NULL,
  deed TEXT NOT NULL,
  subject TEXT NOT NULL,
  status INTEGER NOT NULL
);
)",
                                                     R"(
CREATE TABLE former_names (name TEXT PRIMARY KEY) WITHOUT ROWID;
)",
                                                     R"(
CREATE TABLE identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  person TEXT NOT NULL REFERENCES people (name) ON DELETE CASCADE,
  PRIMARY KEY (issuer, subject)
) WITHOUT ROWID;
CREATE INDEX identities_by_person ON identities (person);
)",
                                                     R"(
ALTER TABLE tokens ADD COLUMN made_by TEXT REFERENCES tokens (sha256) ON DELETE CASCADE;
CREATE INDEX tokens_by_maker ON tokens (made_by);
)",
                                                     R"(
CREATE TABLE secrets (
  scope TEXT NOT NULL,
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  sealed TEXT NOT NULL,
  author TEXT NOT NULL,
  changed_ns INTEGER NOT NULL,
  PRIMARY KEY (scope, owner, name)
) WITHOUT ROWID;
)"};

}  // namespace assay::accounts
