#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "database/database.h"
#include "history/run_scan.h"

namespace assay::history {

struct IndexOptions {
  std::chrono::milliseconds wait{10'000};  ///< how long to wait for other writers
  int threads = 0;                         ///< for reading runs; 0: one per processor
  bool rebuild = false;                    ///< forgets everything and reads all runs again
  /// Called on the thread that opens the index, if there are many runs to read.
  std::function<void(std::size_t done, std::size_t all)> progress{};
};

/// The index of a folder of results, a SQLite file in it. All its content comes from the run
/// directories; it can be deleted at any time. Several processes may use it at once.
///
/// Tables: runs(id, folder, run_id, suite, state, problem, validity, started, ended, machine,
/// hosts, version, rounds, environment, copy_of, archived, …stamps); cases(id, name); metrics(id,
/// name, unit, better); facts(id, hash, text), each set of differing facts once; run_cases(case_id,
/// run, validity, headline, configuration); metric_values(metric, case_id, run, n, median, low,
/// high); tags(run, tag); notes(run, at, text). States and verdicts are numbers of their enums.
class RunIndex {
 public:
  static constexpr std::string_view kFile = ".assay-history.db";
  static constexpr int kVersion = 3;

  /// Opens the index and updates it from the folder: new runs, changed ones (by the stamps of
  /// run_scan.h) and removed ones. A damaged index, or one of an older version, is rebuilt. One
  /// that is newer, stays locked for longer than `wait`, or cannot be written is left alone, and
  /// this one exists only in memory; messages() says so. Throws Error of kind usage if there is no
  /// such folder.
  [[nodiscard]] static RunIndex open(const std::filesystem::path& results,
                                     const IndexOptions& options = {});

  [[nodiscard]] const std::filesystem::path& results() const noexcept { return results_; }
  /// Messages for the user, one sentence each.
  [[nodiscard]] const std::vector<std::string>& messages() const noexcept { return messages_; }
  [[nodiscard]] std::size_t runs_read() const noexcept { return runs_read_; }
  [[nodiscard]] database::Database& database() noexcept { return database_; }

 private:
  RunIndex(std::filesystem::path results, database::Database database);
  using Scan = std::shared_future<std::vector<RunFolder>>;

  void refresh(const Scan& scan, const IndexOptions& options);

  std::filesystem::path results_;
  database::Database database_;
  std::vector<std::string> messages_;
  std::size_t runs_read_ = 0;
};

/// Opens the index of `results` and runs the query. If the index only then proves damaged, it is
/// rebuilt and queried once more.
template <class Query>
auto ask_index(const std::filesystem::path& results, const IndexOptions& options, Query query) {
  try {
    RunIndex index = RunIndex::open(results, options);
    return query(index);
  } catch (const database::DatabaseError& error) {
    if (error.cause() != database::Cause::damaged) throw;
  }
  IndexOptions anew = options;
  anew.rebuild = true;
  RunIndex index = RunIndex::open(results, anew);
  return query(index);
}

/// Updates the entry of one run, at the end of 'assay run' and 'assay report'. Waits at most two
/// seconds and never throws: the next query writes what this cannot. `create` starts an index if
/// there is none.
void index_run(const std::filesystem::path& run, bool create) noexcept;

}  // namespace assay::history
