#include <fmt/format.h>

#include "core/sha256.h"
#include "core/time.h"
#include "serve/random_text.h"
#include "tester/records.h"

namespace assay::tester {

namespace {

constexpr std::size_t kMaxDatabaseFaults = 100;

}  // namespace

void Records::adopt(const TestRecord& test, const std::optional<Manifest>& manifest) {
  const std::string now = iso_utc(wall_now_ns());
  const std::scoped_lock lock(lock_);
  Transaction transaction(database_);
  // Nobody has this token's secret: it only provides the name, until it is rotated.
  database_
      .prepare(
          "INSERT OR IGNORE INTO tokens (name, sha256, created, revoked) VALUES (?1, ?2, ?3, ?3)")
      .bind(1, test.token)
      .bind(2, sha256(serve::random_hex(32)))
      .bind(3, now)
      .run();
  Statement insert = database_.prepare(
      "INSERT OR IGNORE INTO tests (id, token, name, system, ais, status, created, finished, "
      "verdict, run_id, suite, answer) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)");
  insert.bind(1, test.id)
      .bind(2, test.token)
      .bind(3, test.name)
      .bind(4, dump_line(test.system))
      .bind(5, dump_line(test.ais))
      .bind(6, to_text(test.status))
      .bind(7, test.created.empty() ? now : test.created);
  if (!test.finished.empty())
    insert.bind(8, test.finished)
        .bind(9, test.verdict)
        .bind(10, test.run_id)
        .bind(11, test.suite)
        .bind(12, dump_line(test.answer));
  insert.run();
  if (manifest && database_.changes() > 0)
    insert_manifest(test.id, *manifest, test.status == TestStatus::refused ? 0 : manifest->bytes());
  transaction.commit();
}

std::vector<std::string> Records::all_tests() {
  const std::scoped_lock lock(lock_);
  std::vector<std::string> out;
  Statement rows = database_.prepare("SELECT id FROM tests ORDER BY seq");
  while (rows.step()) out.push_back(rows.text(0));
  return out;
}

std::vector<std::string> Records::faults() {
  const std::scoped_lock lock(lock_);
  std::vector<std::string> out;
  Statement check = database_.prepare("PRAGMA integrity_check(100)");
  while (check.step() && out.size() < kMaxDatabaseFaults)
    if (check.text(0) != "ok") out.push_back("the database: " + check.text(0));
  Statement keys = database_.prepare("PRAGMA foreign_key_check");
  while (keys.step() && out.size() < kMaxDatabaseFaults)
    out.push_back(fmt::format("the database: a row of {} refers to nothing in {}", keys.text(0),
                              keys.text(2)));
  return out;
}

bool Records::sound() {
  const std::scoped_lock lock(lock_);
  Statement check = database_.prepare("PRAGMA quick_check(1)");
  return check.step() && check.text(0) == "ok";
}

void Records::copy_to(const std::filesystem::path& file) {
  const std::scoped_lock lock(lock_);
  database_.prepare("VACUUM INTO ?1").bind(1, file.string()).run();
}

std::string Records::public_key_of(const std::string& test) {
  const std::scoped_lock lock(lock_);
  Statement row = database_.prepare("SELECT public_key FROM results WHERE test_id = ?1");
  return row.bind(1, test).step() ? row.text(0) : std::string();
}

}  // namespace assay::tester
