#include "tester/records.h"

#include <array>

#include <fmt/format.h>

#include "core/sha256.h"
#include "core/time.h"
#include "core/units.h"
#include "database/migrate.h"
#include "serve/random_text.h"
#include "serve/refusal.h"

namespace assay::tester {

namespace {

constexpr const char* kTables = R"(
CREATE TABLE tokens (
  name TEXT PRIMARY KEY,
  sha256 TEXT NOT NULL UNIQUE,
  created TEXT NOT NULL,
  revoked TEXT
);
CREATE TABLE tests (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  token TEXT NOT NULL REFERENCES tokens(name),
  idempotency_key TEXT,
  name TEXT NOT NULL,
  system TEXT NOT NULL,
  ais TEXT NOT NULL,
  status TEXT NOT NULL,
  created TEXT NOT NULL,
  finished TEXT,
  verdict TEXT,
  run_id TEXT,
  suite TEXT,
  bytes INTEGER NOT NULL DEFAULT 0,
  manifest_sha256 TEXT,
  claim TEXT,
  answer TEXT,
  UNIQUE (token, idempotency_key)
);
CREATE INDEX tests_by_status ON tests(status, seq);
CREATE TABLE files (
  test_id TEXT NOT NULL REFERENCES tests(id) ON DELETE CASCADE,
  n INTEGER NOT NULL,
  path TEXT NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  PRIMARY KEY (test_id, n)
) WITHOUT ROWID;
)";
// Exists since schema 2.
constexpr const char* kChallengeTable = R"(
CREATE TABLE challenges (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  test_id TEXT NOT NULL REFERENCES tests(id) ON DELETE CASCADE,
  token TEXT NOT NULL REFERENCES tokens(name),
  body TEXT NOT NULL,
  expires TEXT NOT NULL,
  answered_by TEXT
);
CREATE INDEX challenges_by_test ON challenges(test_id, seq);
)";
// Since schema 3: the leaderboard content of accepted tests, one row per case.
constexpr const char* kBoardTables = R"(
CREATE TABLE results (
  test_id TEXT PRIMARY KEY REFERENCES tests(id) ON DELETE CASCADE,
  run_id TEXT NOT NULL,
  owner TEXT NOT NULL,
  listed INTEGER NOT NULL,
  public_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  machine TEXT NOT NULL
);
CREATE INDEX results_by_run ON results(run_id);
CREATE TABLE entries (
  test_id TEXT NOT NULL REFERENCES results(test_id) ON DELETE CASCADE,
  n INTEGER NOT NULL,
  suite TEXT NOT NULL,
  case_name TEXT NOT NULL,
  work TEXT NOT NULL,
  model TEXT NOT NULL,
  framework TEXT NOT NULL,
  hardware TEXT NOT NULL,
  nodes INTEGER NOT NULL,
  procs INTEGER NOT NULL,
  devices INTEGER NOT NULL,
  verdict TEXT NOT NULL,
  relaxed INTEGER NOT NULL,
  metric TEXT NOT NULL,
  unit TEXT NOT NULL,
  better TEXT NOT NULL,
  value REAL NOT NULL,
  half REAL,
  half_kind TEXT NOT NULL,
  rounds INTEGER NOT NULL,
  per TEXT NOT NULL,
  seconds REAL NOT NULL,
  energy REAL,
  energy_origin TEXT NOT NULL,
  PRIMARY KEY (test_id, n)
) WITHOUT ROWID;
CREATE INDEX entries_by_case ON entries(suite, case_name, work, metric);
)";
// `answer` comes last, so that a list can omit it.
constexpr const char* kColumns =
    "id, token, name, system, ais, status, created, finished, verdict, run_id, suite, bytes";

TestRecord record_of(const Statement& row) {
  TestRecord test;
  test.id = row.text(0);
  test.token = row.text(1);
  test.name = row.text(2);
  test.system = parse_json_or_null(row.text(3));
  test.ais = parse_json_or_null(row.text(4));
  test.status = parse_enum<TestStatus>(row.text(5)).value_or(TestStatus::open);
  test.created = row.text(6);
  test.finished = row.text(7);
  test.verdict = row.text(8);
  test.run_id = row.text(9);
  test.suite = row.text(10);
  test.bytes = static_cast<std::uint64_t>(row.number(11));
  return test;
}

std::string today() {
  return compact_utc(wall_now_ns()).substr(0, 8);
}

}  // namespace

Records::Records(const std::filesystem::path& file) : database_(file) {
  static constexpr std::array<std::string_view, 3> kSteps{kTables, kChallengeTable, kBoardTables};
  database::migrate(database_, kSteps);
}

TestRecord Records::make_test(const TestRecord& wanted, const std::string& idempotency_key,
                              bool& is_new, std::int64_t max_open) {
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  if (!idempotency_key.empty()) {
    Statement known = database_.prepare(
        fmt::format("SELECT {} FROM tests WHERE token = ?1 AND idempotency_key = ?2", kColumns));
    if (known.bind(1, wanted.token).bind(2, idempotency_key).step()) {
      is_new = false;
      return record_of(known);
    }
  }
  Statement unfinished =
      database_.prepare("SELECT count(*) FROM tests WHERE token = ?1 AND finished IS NULL");
  if (unfinished.bind(1, wanted.token).step() && unfinished.number(0) >= max_open)
    throw serve::Refusal(429, "too_many_open",
                         fmt::format("the token has {} tests that are not finished", max_open),
                         "finish one of them; those without a manifest end after a day");
  unfinished.reset();
  TestRecord test = wanted;
  test.created = iso_utc(wall_now_ns());
  Statement taken = database_.prepare("SELECT 1 FROM tests WHERE id = ?1");
  do {
    taken.reset();
    test.id = today() + "-" + serve::random_alphanumerics(6);
  } while (taken.bind(1, test.id).step());
  taken.reset();
  Statement insert = database_.prepare(
      "INSERT INTO tests (id, token, idempotency_key, name, system, ais, status, created) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
  insert.bind(1, test.id).bind(2, test.token);
  if (idempotency_key.empty())
    insert.bind_null(3);
  else
    insert.bind(3, idempotency_key);
  insert.bind(4, test.name)
      .bind(5, dump_line(test.system))
      .bind(6, dump_line(test.ais))
      .bind(7, to_text(test.status))
      .bind(8, test.created)
      .run();
  transaction.commit();
  is_new = true;
  return test;
}

std::optional<TestRecord> Records::test(const std::string& id) {
  const std::scoped_lock lock(lock_);
  Statement row =
      database_.prepare(fmt::format("SELECT {}, answer FROM tests WHERE id = ?1", kColumns));
  if (!row.bind(1, id).step()) return std::nullopt;
  TestRecord test = record_of(row);
  test.answer = parse_json_or_null(row.text(12));
  return test;
}

TestPage Records::list(const TestQuery& query) {
  const auto column = [&] {
    switch (query.sort) {
      case TestSort::number:
        return "seq";
      case TestSort::name:
        return "name";
      case TestSort::status:
        return "status";
      case TestSort::verdict:
        return "verdict";
      case TestSort::by:
        return "token";
      case TestSort::machine:
        return "machine";
      case TestSort::bytes:
        return "bytes";
    }
    return "seq";
  };
  const std::string from =
      "FROM (SELECT *, coalesce((SELECT machine FROM results WHERE test_id = id), '') AS machine "
      "FROM tests) WHERE (?1 = '' OR status = ?1) AND (?2 = '' OR instr(lower(name || char(10) || "
      "id || char(10) || token || char(10) || machine || char(10) || coalesce(suite, '') || "
      "char(10) || coalesce(run_id, '')), lower(?2)) > 0)";
  const std::string status(query.status ? to_text(*query.status) : "");
  const std::scoped_lock lock(lock_);
  TestPage out;
  Statement count = database_.prepare("SELECT count(*) " + from);
  if (count.bind(1, status).bind(2, query.text).step()) out.total = count.number(0);
  // Missing values come last in either direction.
  Statement rows = database_.prepare(fmt::format(
      "SELECT {0}, seq, machine {1} ORDER BY {2} IS NULL OR {2} = '', {2} {3}, seq DESC LIMIT ?3 "
      "OFFSET ?4",
      kColumns, from, column(), query.descending ? "DESC" : ""));
  rows.bind(1, status)
      .bind(2, query.text)
      .bind(3, query.per_page)
      .bind(4, (query.page - 1) * query.per_page);
  while (rows.step()) {
    TestRecord& test = out.tests.emplace_back(record_of(rows));
    test.number = rows.number(12);
    test.machine = rows.text(13);
  }
  return out;
}

void Records::set_manifest(const std::string& id, const Manifest& manifest, std::uint64_t quota,
                           bool reserved) {
  const std::string hash = sha256(dump_line(to_json(manifest)));
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  Statement row = database_.prepare("SELECT manifest_sha256 FROM tests WHERE id = ?1");
  if (!row.bind(1, id).step()) throw serve::Refusal(404, "no_such_test", "there is no test " + id);
  const std::string known = row.text(0);
  row.reset();
  if (known == hash) return;
  if (!known.empty())
    throw serve::Refusal(409, "manifest_exists", "the test has another manifest already",
                         "make a new test for a run that has changed");
  Statement same = database_.prepare(
      "SELECT o.id FROM tests o JOIN tests t ON t.token = o.token WHERE t.id = ?1 AND o.id <> ?1 "
      "AND o.manifest_sha256 = ?2 AND o.status <> 'refused' ORDER BY o.seq LIMIT 1");
  if (same.bind(1, id).bind(2, hash).step()) {
    serve::Refusal refusal(409, "same_run", "the run is a test already: " + same.text(0),
                           "see that test");
    refusal.more["test_id"] = same.text(0);
    same.reset();
    if (!reserved) database_.prepare("DELETE FROM tests WHERE id = ?1").bind(1, id).run();
    transaction.commit();
    throw refusal;
  }
  same.reset();
  Statement sum = database_.prepare("SELECT coalesce(sum(bytes), 0) FROM tests");
  const std::uint64_t used = sum.step() ? static_cast<std::uint64_t>(sum.number(0)) : 0;
  sum.reset();
  if (used > quota || manifest.bytes() > quota - used)
    throw serve::Refusal(
        507, "no_room",
        fmt::format("the tester has room for {} in all, of which {} are in use; the run "
                    "has {}",
                    format_bytes(static_cast<double>(quota)),
                    format_bytes(static_cast<double>(used)),
                    format_bytes(static_cast<double>(manifest.bytes()))),
        "ask the tester's operator for a larger --quota");
  insert_manifest(id, manifest, manifest.bytes());
  database_.prepare("UPDATE tests SET status = ?2 WHERE id = ?1")
      .bind(1, id)
      .bind(2, to_text(TestStatus::uploading))
      .run();
  transaction.commit();
}

void Records::insert_manifest(const std::string& id, const Manifest& manifest,
                              std::uint64_t bytes) {
  Statement insert = database_.prepare(
      "INSERT INTO files (test_id, n, path, size, sha256) VALUES (?1, ?2, ?3, ?4, ?5)");
  std::int64_t n = 0;
  for (const ManifestFile& file : manifest.files) {
    insert.reset();
    insert.bind(1, id)
        .bind(2, n++)
        .bind(3, file.path)
        .bind(4, static_cast<std::int64_t>(file.size))
        .bind(5, file.sha256)
        .run();
  }
  database_.prepare("UPDATE tests SET manifest_sha256 = ?2, claim = ?3, bytes = ?4 WHERE id = ?1")
      .bind(1, id)
      .bind(2, sha256(dump_line(to_json(manifest))))
      .bind(3, dump_line(manifest.claim))
      .bind(4, static_cast<std::int64_t>(bytes))
      .run();
}

std::optional<Manifest> Records::manifest(const std::string& id) {
  const std::scoped_lock lock(lock_);
  Statement row =
      database_.prepare("SELECT claim FROM tests WHERE id = ?1 AND manifest_sha256 IS NOT NULL");
  if (!row.bind(1, id).step()) return std::nullopt;
  Manifest manifest;
  manifest.claim = parse_json_or_null(row.text(0));
  Statement rows =
      database_.prepare("SELECT path, size, sha256 FROM files WHERE test_id = ?1 ORDER BY n");
  rows.bind(1, id);
  while (rows.step())
    manifest.files.push_back(
        {rows.text(0), static_cast<std::uint64_t>(rows.number(1)), rows.text(2)});
  return manifest;
}

std::optional<ManifestFile> Records::file(const std::string& id, std::int64_t n) {
  const std::scoped_lock lock(lock_);
  Statement row =
      database_.prepare("SELECT path, size, sha256 FROM files WHERE test_id = ?1 AND n = ?2");
  if (!row.bind(1, id).bind(2, n).step()) return std::nullopt;
  return ManifestFile{row.text(0), static_cast<std::uint64_t>(row.number(1)), row.text(2)};
}

void Records::finish(const TestRecord& test, const std::string& challenge, const BoardRun* board) {
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  if (!challenge.empty())
    database_
        .prepare("UPDATE challenges SET answered_by = ?2 WHERE id = ?1 AND answered_by IS NULL")
        .bind(1, challenge)
        .bind(2, test.id)
        .run();
  // A refused test's evidence is removed and no longer takes up space.
  database_
      .prepare(
          "UPDATE tests SET status = ?2, finished = ?3, verdict = ?4, run_id = ?5, "
          "suite = ?6, answer = ?7, bytes = CASE WHEN ?2 = 'refused' THEN 0 ELSE bytes END "
          "WHERE id = ?1 AND finished IS NULL")
      .bind(1, test.id)
      .bind(2, to_text(test.status))
      .bind(3, iso_utc(wall_now_ns()))
      .bind(4, test.verdict)
      .bind(5, test.run_id)
      .bind(6, test.suite)
      .bind(7, dump_line(test.answer))
      .run();
  if (board != nullptr && database_.changes() > 0) insert_board(test.id, test.token, *board);
  transaction.commit();
}

std::vector<std::string> Records::unfinished_before(const std::string& created,
                                                    const std::string& empty_created) {
  const std::scoped_lock lock(lock_);
  std::vector<std::string> out;
  Statement rows = database_.prepare(
      "SELECT id FROM tests WHERE finished IS NULL AND (created < ?1 OR (created < ?2 AND "
      "manifest_sha256 IS NULL))");
  rows.bind(1, created).bind(2, empty_created);
  while (rows.step()) out.push_back(rows.text(0));
  return out;
}

void Records::remove_test(const std::string& id) {
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  Statement shown = database_.prepare("SELECT run_id FROM results WHERE test_id = ?1");
  const std::string run_id = shown.bind(1, id).step() ? shown.text(0) : std::string();
  shown.reset();
  database_.prepare("DELETE FROM tests WHERE id = ?1").bind(1, id).run();
  if (!run_id.empty()) list_run(run_id);
  transaction.commit();
}

}  // namespace assay::tester
