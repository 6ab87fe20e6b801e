#include "history/run_index.h"

#include <algorithm>

#include "core/error.h"
#include "core/parallel.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "history/index_writer.h"

namespace assay::history {

namespace {

namespace fs = std::filesystem;
using database::Cause;
using database::Database;
using database::DatabaseError;
using database::Statement;
using database::Transaction;

constexpr std::size_t kBatch = 256;
constexpr auto kWaitAtEndOfRun = std::chrono::seconds(2);

database::Options file_options(std::chrono::milliseconds wait) {
  database::Options options;
  // Results are often on a network file system. Whatever a power loss undoes is read again.
  options.journal = database::Options::Journal::rollback;
  options.durable = false;
  options.wait = wait;
  options.one_thread = true;
  return options;
}

std::string in_memory_because(const std::string& why) {
  return why + ": the runs are read for this command only";
}

std::string why_not(const DatabaseError& error, const fs::path& file) {
  switch (error.cause()) {
    case Cause::locked:
      return "another process holds the index " + file.string();
    case Cause::not_writable:
      return "the index " + file.string() + " cannot be written";
    default:
      return error.what();
  }
}

// The file's content as far as it is readable; otherwise empty.
Database copy_in_memory(const fs::path& file) {
  try {
    database::Options options = file_options(std::chrono::milliseconds(200));
    options.read_only = true;
    Database original(file, options);
    if (original.user_version() == RunIndex::kVersion) return Database::in_memory(&original);
  } catch (const DatabaseError&) {
    // Read again from the runs.
  }
  return Database::in_memory();
}

struct Known {
  std::string folder;
  Stamp stamp;
  RunState state = RunState::ended;
};

// Sorted by folder. They are mostly in order, so sorting here is faster than in SQLite.
std::vector<Known> known_runs(Database& database) {
  std::vector<Known> out;
  Statement all =
      database.prepare("SELECT folder, result_mtime, result_bytes, folder_mtime, state FROM runs");
  while (all.step())
    out.push_back({all.text(0),
                   {all.number(1), all.number(2), all.number(3)},
                   static_cast<RunState>(all.number(4))});
  if (!std::ranges::is_sorted(out, {}, &Known::folder)) std::ranges::sort(out, {}, &Known::folder);
  return out;
}

}  // namespace

RunIndex::RunIndex(fs::path results, Database database)
    : results_(std::move(results)), database_(std::move(database)) {
  database_.execute("PRAGMA cache_size = -65536");  // in KiB
}

RunIndex RunIndex::open(const fs::path& results, const IndexOptions& options) {
  require_results(results);
  // Reads the file system and the index concurrently.
  const Scan folders = std::async(std::launch::async, [&] {
                         return scan_results(results, options.threads);
                       }).share();
  const fs::path file = results / kFile;
  std::string note;     // about an index that can be used
  std::string message;  // why this one cannot
  bool anew = false;
  bool emptied = false;
  if (is_irregular(file)) {
    // Somebody put a link, a FIFO or a device there; what is behind it is not ours.
    message = in_memory_because("the index " + file.string() +
                                " is not a regular file and is left alone");
    anew = true;
  }
  while (message.empty()) {
    try {
      database::Options how = file_options(options.wait);
      how.empty = anew;
      emptied = anew;
      RunIndex index(results, Database(file, how));
      const std::int64_t version = index.database_.user_version();
      if (version > kVersion) {
        message = in_memory_because("the index " + file.string() +
                                    " is of a newer version of assay and is left alone");
        anew = true;
        break;
      }
      if (!emptied && (options.rebuild || (version != 0 && version != kVersion))) {
        anew = true;
        continue;
      }
      create_tables(index.database_, kVersion);
      index.refresh(folders, options);
      if (!note.empty()) index.messages_.push_back(note);
      return index;
    } catch (const DatabaseError& error) {
      if (error.cause() != Cause::damaged || emptied) {
        message = in_memory_because(why_not(error, file));
        break;
      }
      note = "the index " + file.string() + " was damaged and is rebuilt";
      anew = true;
    }
  }
  RunIndex index(results, anew ? Database::in_memory() : copy_in_memory(file));
  index.messages_.push_back(message);
  create_tables(index.database_, kVersion);
  index.refresh(folders, options);
  return index;
}

void RunIndex::refresh(const Scan& scan, const IndexOptions& options) {
  const std::vector<Known> known = known_runs(database_);
  const std::vector<RunFolder>& folders = scan.get();
  std::vector<const RunFolder*> changed;
  std::vector<std::string> gone;
  auto at = known.begin();  // both are sorted by name
  for (const RunFolder& folder : folders) {
    for (; at != known.end() && at->folder < folder.name; ++at) gone.push_back(at->folder);
    const bool is_known = at != known.end() && at->folder == folder.name;
    // A run in progress may have ended without a trace in its folder, for instance by a kill.
    const bool same = is_known && at->stamp == folder.stamp && at->state != RunState::running;
    if (!same && (is_known || looks_like_run(results_ / folder.name))) changed.push_back(&folder);
    if (is_known) ++at;
  }
  for (; at != known.end(); ++at) gone.push_back(at->folder);
  if (changed.empty() && gone.empty()) return;

  for (std::size_t first = 0; first < changed.size() || first == 0; first += kBatch) {
    const std::size_t count = std::min(kBatch, changed.size() - first);
    std::vector<RunRecord> records(count);
    run_parallel(count, options.threads, {}, [&](std::size_t i, const std::stop_token&) {
      records[i] = read_run(results_ / changed[first + i]->name);
    });
    Transaction transaction(database_);
    IndexWriter writer(database_);
    if (first == 0)
      for (const std::string& name : gone) writer.remove(name);
    // The stamps are older than the data: a change in between shows the next time.
    for (std::size_t i = 0; i < count; ++i) writer.put(records[i], changed[first + i]->stamp);
    if (first + kBatch >= changed.size()) writer.mark_copies();
    transaction.commit();
    runs_read_ += count;
    if (options.progress && changed.size() > kBatch) options.progress(runs_read_, changed.size());
  }
}

void index_run(const fs::path& run, bool create) noexcept {
  try {
    const fs::path file = run.parent_path() / RunIndex::kFile;
    std::error_code ec;
    if ((!create && !fs::exists(file, ec)) || is_irregular(file)) return;
    Database database(file, file_options(kWaitAtEndOfRun));
    const std::int64_t version = database.user_version();
    // Another version's index belongs to that version; the next query rebuilds an old one.
    if (version != 0 && version != RunIndex::kVersion) return;
    create_tables(database, RunIndex::kVersion);
    const Stamp stamp = stamp_of(run);
    const RunRecord record = read_run(run);
    Transaction transaction(database);
    IndexWriter writer(database);
    writer.put(record, stamp);
    writer.mark_copies();
    transaction.commit();
  } catch (...) {
    // The next query finds the run anyway.
  }
}

}  // namespace assay::history
