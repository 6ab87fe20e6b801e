#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "database/database.h"
#include "history/run_record.h"
#include "history/run_scan.h"

namespace assay::history {

/// Creates the tables of run_index.h in a new file; keeps existing ones.
void create_tables(database::Database& database, int version);

/// Writes runs to the index within the caller's transaction. Caches ids, so it must not outlive the
/// transaction.
class IndexWriter {
 public:
  explicit IndexWriter(database::Database& database);
  /// Replaces what was known about the folder.
  void put(const RunRecord& run, const Stamp& stamp);
  void remove(const std::string& folder);
  /// Finds runs that are copies of another: the same id and rounds.
  void mark_copies();

 private:
  using Ids = std::unordered_map<std::string, std::int64_t>;

  std::int64_t id_of(Ids& ids, const std::string& key, database::Statement& insert,
                     database::Statement& select);
  std::int64_t case_id(const std::string& name);
  std::int64_t metric_id(const MetricInfo& info);
  std::int64_t facts_id(const compare::Leaves& facts);
  void put_case(std::int64_t run, const CaseRecord& record);

  database::Database& database_;
  database::Statement find_run_;
  database::Statement insert_run_;
  database::Statement insert_case_;
  database::Statement select_case_;
  database::Statement insert_metric_;
  database::Statement select_metric_;
  database::Statement insert_facts_;
  database::Statement select_facts_;
  database::Statement insert_run_case_;
  database::Statement insert_value_;
  Ids cases_;
  Ids metrics_;
  Ids facts_;
};

}  // namespace assay::history
