#include "history/index_writer.h"

#include <map>
#include <set>

#include "core/sha256.h"
#include "core/text.h"

namespace assay::history {

using database::Database;
using database::Statement;
using database::Transaction;

namespace {

constexpr const char* kTables = R"(
CREATE TABLE IF NOT EXISTS runs (
  id INTEGER PRIMARY KEY, folder TEXT NOT NULL UNIQUE, run_id TEXT NOT NULL, suite TEXT NOT NULL,
  state INTEGER NOT NULL, problem TEXT NOT NULL, validity INTEGER NOT NULL,
  started INTEGER NOT NULL, ended INTEGER NOT NULL, machine TEXT NOT NULL, hosts TEXT NOT NULL,
  version TEXT NOT NULL, rounds TEXT NOT NULL, environment INTEGER NOT NULL,
  copy_of TEXT NOT NULL DEFAULT '', archived TEXT NOT NULL, result_mtime INTEGER NOT NULL, result_bytes INTEGER NOT NULL,
  folder_mtime INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS runs_by_id ON runs (run_id);
CREATE TABLE IF NOT EXISTS cases (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS metrics (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT NULL, better INTEGER NOT NULL,
  UNIQUE (name, unit, better));
CREATE TABLE IF NOT EXISTS facts (
  id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS run_cases (
  case_id INTEGER NOT NULL, run INTEGER NOT NULL,
  validity INTEGER NOT NULL, headline INTEGER, configuration INTEGER NOT NULL,
  PRIMARY KEY (case_id, run)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS metric_values (
  metric INTEGER NOT NULL, case_id INTEGER NOT NULL, run INTEGER NOT NULL, n INTEGER NOT NULL,
  median REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL,
  PRIMARY KEY (metric, case_id, run)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tags (
  run INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (run, tag)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tags_by_name ON tags (tag);
CREATE TABLE IF NOT EXISTS notes (run INTEGER NOT NULL, at TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS notes_by_run ON notes (run);
)";

std::string facts_text(const compare::Leaves& facts) {
  Json json = Json::object();
  for (const auto& [key, value] : facts) json[key] = value;
  return dump_line(json);
}

}  // namespace

void create_tables(Database& database, int version) {
  if (database.user_version() == version) return;
  // Queries read long ranges. Takes effect in an empty file, as VACUUM leaves it.
  database.execute("PRAGMA page_size = 16384");
  database.execute("VACUUM");
  Transaction transaction(database);
  // Another process may have created them meanwhile.
  database.execute(kTables);
  database.set_user_version(version);
  transaction.commit();
}

IndexWriter::IndexWriter(Database& database)
    : database_(database),
      find_run_(database.prepare("SELECT id FROM runs WHERE folder = ?")),
      insert_run_(database.prepare(
          "INSERT INTO runs (id, folder, run_id, suite, state, problem, validity, started, ended, "
          "machine, hosts, version, rounds, environment, archived, result_mtime, result_bytes, "
          "folder_mtime) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")),
      insert_case_(database.prepare("INSERT OR IGNORE INTO cases (name) VALUES (?)")),
      select_case_(database.prepare("SELECT id FROM cases WHERE name = ?")),
      insert_metric_(
          database.prepare("INSERT OR IGNORE INTO metrics (name, unit, better) VALUES (?, ?, ?)")),
      select_metric_(
          database.prepare("SELECT id FROM metrics WHERE name = ? AND unit = ? AND better = ?")),
      insert_facts_(database.prepare("INSERT OR IGNORE INTO facts (hash, text) VALUES (?, ?)")),
      select_facts_(database.prepare("SELECT id FROM facts WHERE hash = ?")),
      insert_run_case_(database.prepare(
          "INSERT OR IGNORE INTO run_cases (case_id, run, validity, headline, configuration) "
          "VALUES (?, ?, ?, ?, ?)")),
      insert_value_(database.prepare("INSERT OR IGNORE INTO metric_values (metric, case_id, run, "
                                     "n, median, low, high) VALUES (?, ?, ?, ?, ?, ?, ?)")) {}

// Both statements are already bound.
std::int64_t IndexWriter::id_of(Ids& ids, const std::string& key, Statement& insert,
                                Statement& select) {
  insert.run();
  insert.reset();
  const std::int64_t id = select.step() ? select.number(0) : 0;
  select.reset();
  ids.emplace(key, id);
  return id;
}

std::int64_t IndexWriter::case_id(const std::string& name) {
  if (const auto known = cases_.find(name); known != cases_.end()) return known->second;
  insert_case_.bind(1, name);
  select_case_.bind(1, name);
  return id_of(cases_, name, insert_case_, select_case_);
}

std::int64_t IndexWriter::metric_id(const MetricInfo& info) {
  const auto better = static_cast<std::int64_t>(info.better);
  const std::string key = info.name + '\n' + info.unit + '\n' + std::to_string(better);
  if (const auto known = metrics_.find(key); known != metrics_.end()) return known->second;
  insert_metric_.bind(1, info.name).bind(2, info.unit).bind(3, better);
  select_metric_.bind(1, info.name).bind(2, info.unit).bind(3, better);
  return id_of(metrics_, key, insert_metric_, select_metric_);
}

std::int64_t IndexWriter::facts_id(const compare::Leaves& facts) {
  const std::string text = facts_text(facts);
  const std::string hash = sha256(text);
  if (const auto known = facts_.find(hash); known != facts_.end()) return known->second;
  insert_facts_.bind(1, hash).bind(2, text);
  select_facts_.bind(1, hash);
  return id_of(facts_, hash, insert_facts_, select_facts_);
}

void IndexWriter::remove(const std::string& folder) {
  find_run_.bind(1, folder);
  const bool known = find_run_.step();
  const std::int64_t run = known ? find_run_.number(0) : 0;
  find_run_.reset();
  if (!known) return;
  // Values are ordered by metric and case: naming all of these finds a run's values at once.
  for (const char* sql :
       {("DELETE FROM metric_values WHERE metric IN (SELECT id FROM metrics) AND case_id IN "
         "(SELECT id FROM cases) AND run = ?"),
        "DELETE FROM run_cases WHERE case_id IN (SELECT id FROM cases) AND run = ?",
        "DELETE FROM tags WHERE run = ?", "DELETE FROM notes WHERE run = ?",
        "DELETE FROM runs WHERE id = ?"}) {
    Statement statement = database_.prepare(sql);
    statement.bind(1, run);
    statement.run();
  }
}

void IndexWriter::put_case(std::int64_t run, const CaseRecord& record) {
  const std::int64_t id = case_id(record.name);
  insert_run_case_.bind(1, id)
      .bind(2, run)
      .bind(3, static_cast<std::int64_t>(record.validity))
      .bind_null(4)
      .bind(5, facts_id(record.configuration));
  for (const judge::Summary& metric : record.metrics) {
    const std::int64_t metric_key = metric_id(metric.info);
    if (metric.info.name == record.headline) insert_run_case_.bind(4, metric_key);
    insert_value_.bind(1, metric_key)
        .bind(2, id)
        .bind(3, run)
        .bind(4, static_cast<std::int64_t>(metric.n))
        .bind_real(5, metric.median)
        .bind_real(6, metric.min)
        .bind_real(7, metric.max);
    insert_value_.run();
    insert_value_.reset();
  }
  insert_run_case_.run();
  insert_run_case_.reset();
}

void IndexWriter::put(const RunRecord& run, const Stamp& stamp) {
  remove(run.folder);
  std::string hosts = "\n";
  for (const std::string& host : run.hosts) hosts += host + "\n";
  insert_run_.bind_null(1)
      .bind(2, run.folder)
      .bind(3, run.run_id)
      .bind(4, run.suite)
      .bind(5, static_cast<std::int64_t>(run.state))
      .bind(6, run.problem)
      .bind(7, static_cast<std::int64_t>(run.validity))
      .bind(8, run.started_ms)
      .bind(9, run.ended_ms)
      .bind(10, machine_name(run.hosts))
      .bind(11, hosts)
      .bind(12, run.version)
      .bind(13, run.rounds)
      .bind(14, facts_id(run.environment))
      .bind(15, run.archived)
      .bind(16, stamp.result_mtime_ns)
      .bind(17, stamp.result_bytes)
      .bind(18, stamp.folder_mtime_ns);
  insert_run_.run();
  insert_run_.reset();
  find_run_.bind(1, run.folder);
  const std::int64_t id = find_run_.step() ? find_run_.number(0) : 0;
  find_run_.reset();
  for (const CaseRecord& record : run.cases) put_case(id, record);
  for (const std::string& tag : run.labels.tags) {
    Statement insert = database_.prepare("INSERT OR IGNORE INTO tags (run, tag) VALUES (?, ?)");
    insert.bind(1, id).bind(2, tag);
    insert.run();
  }
  for (const Note& note : run.labels.notes) {
    Statement insert = database_.prepare("INSERT INTO notes (run, at, text) VALUES (?, ?, ?)");
    insert.bind(1, id).bind(2, note.at).bind(3, note.text);
    insert.run();
  }
}

void IndexWriter::mark_copies() {
  database_.execute("UPDATE runs SET copy_of = '' WHERE copy_of != ''");
  // The copy in the folder that the run itself created comes first.
  Statement all = database_.prepare(
      "SELECT id, folder, run_id, rounds FROM runs WHERE rounds != '' AND run_id IN (SELECT run_id "
      "FROM runs GROUP BY run_id HAVING count(*) > 1) ORDER BY run_id, folder != run_id, folder");
  std::map<std::string, std::string> originals;
  std::map<std::int64_t, std::string> copies;
  while (all.step()) {
    const auto [original, is_first] =
        originals.try_emplace(all.text(2) + '\n' + all.text(3), all.text(1));
    if (!is_first) copies[all.number(0)] = original->second;
  }
  for (const auto& [id, original] : copies) {
    Statement update = database_.prepare("UPDATE runs SET copy_of = ? WHERE id = ?");
    update.bind(1, original).bind(2, id);
    update.run();
  }
}

}  // namespace assay::history
