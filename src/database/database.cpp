#include "database/database.h"

#include <algorithm>
#include <cerrno>
#include <thread>

#include <fmt/format.h>
#include <sqlite3.h>

#include "core/time.h"

namespace assay::database {

namespace {

Cause cause_of(int code) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Cause::damaged;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Cause::locked;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return Cause::not_writable;
    case SQLITE_FULL:
      return Cause::disk_full;
    default:
      return Cause::other;
  }
}

[[noreturn]] void fail(sqlite3* database, std::string_view what) {
  int code = sqlite3_errcode(database);
  // Where there is no room for the shared memory of the log, SQLite calls it a failure of the disk.
  if (database != nullptr && code == SQLITE_IOERR) {
    const int error = sqlite3_system_errno(database);
    if (error == ENOSPC || error == EDQUOT) code = SQLITE_FULL;
  }
  const char* file = database == nullptr ? nullptr : sqlite3_db_filename(database, "main");
  throw DatabaseError(
      cause_of(code),
      std::string(what) + ": " + (database == nullptr ? "out of memory" : sqlite3_errmsg(database)),
      file == nullptr ? std::string() : std::string(file),
      code == SQLITE_FULL ? "the disk is full: make room" : std::string());
}

// What is written to a file that was removed or replaced is gone with the process: whoever was
// answered that it is kept would have been told a lie.
void require_in_place(sqlite3* database) {
  int moved = 0;
  if (sqlite3_file_control(database, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK ||
      moved == 0)
    return;
  throw DatabaseError(Cause::not_writable, "the file was removed or replaced while it was open",
                      sqlite3_db_filename(database, "main"),
                      "stop the server, and put back a good copy");
}

/// `read` takes what `holds` is asked about out of a value of SQLite.
template <class F, class Read>
void define_function(sqlite3* database, const std::string& name, F holds, Read read) {
  struct Kept {
    F holds;
    Read read;
  };
  auto kept = std::make_unique<Kept>(Kept{std::move(holds), std::move(read)});
  // On a failure, too, SQLite calls what ends it.
  const int code = sqlite3_create_function_v2(
      database, name.c_str(), 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, kept.release(),
      [](sqlite3_context* context, int /*count*/, sqlite3_value** values) {
        const auto& self = *static_cast<const Kept*>(sqlite3_user_data(context));
        sqlite3_result_int(context, self.holds(self.read(*values)) ? 1 : 0);
      },
      nullptr, nullptr, [](void* self) { delete static_cast<Kept*>(self); });
  if (code != SQLITE_OK) fail(database, "cannot define a function of the database");
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

Statement::Statement(sqlite3* database, std::string_view sql) {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &made, nullptr) !=
      SQLITE_OK)
    fail(database, "cannot prepare a statement");
  statement_.reset(made);
}

Statement& Statement::bind(int index, std::string_view value) {
  if (sqlite3_bind_text64(statement_.get(), index, value.data(), value.size(), SQLITE_TRANSIENT,
                          SQLITE_UTF8) != SQLITE_OK)
    fail(sqlite3_db_handle(statement_.get()), "cannot bind a value");
  return *this;
}

Statement& Statement::bind(int index, std::int64_t value) {
  if (sqlite3_bind_int64(statement_.get(), index, value) != SQLITE_OK)
    fail(sqlite3_db_handle(statement_.get()), "cannot bind a value");
  return *this;
}

Statement& Statement::bind_real(int index, double value) {
  if (sqlite3_bind_double(statement_.get(), index, value) != SQLITE_OK)
    fail(sqlite3_db_handle(statement_.get()), "cannot bind a value");
  return *this;
}

Statement& Statement::bind_null(int index) {
  if (sqlite3_bind_null(statement_.get(), index) != SQLITE_OK)
    fail(sqlite3_db_handle(statement_.get()), "cannot bind a value");
  return *this;
}

bool Statement::step() {
  // Of a transaction its beginning is looked at.
  sqlite3* const database = sqlite3_db_handle(statement_.get());
  if (sqlite3_stmt_readonly(statement_.get()) == 0 && sqlite3_get_autocommit(database) != 0 &&
      sqlite3_stmt_busy(statement_.get()) == 0)
    require_in_place(database);
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) fail(sqlite3_db_handle(statement_.get()), "the database failed");
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

std::string Statement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return text == nullptr
             ? std::string()
             : std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
}

std::int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Database::Database(const std::filesystem::path& path, const Options& options) {
  sqlite3* opened = nullptr;
  const int access =
      options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(
      path.c_str(), &opened,
      access | (options.one_thread ? SQLITE_OPEN_NOMUTEX : SQLITE_OPEN_FULLMUTEX), nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK)
    throw DatabaseError(cause_of(code),
                        std::string("cannot open the database: ") +
                            (opened == nullptr ? "out of memory" : sqlite3_errmsg(opened)),
                        path.string());
  patience_ = std::make_unique<Patience>(Patience{.limit = options.wait});
  sqlite3_busy_handler(opened, &Patience::go_on, patience_.get());
  if (options.empty) reset();
  if (!options.read_only && options.journal == Options::Journal::write_ahead)
    execute("PRAGMA journal_mode = WAL");
  execute(options.durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  execute("PRAGMA foreign_keys = ON");
}

int Database::Patience::go_on(void* self, int times) noexcept {
  constexpr std::int64_t kAgainNs = Nanoseconds(std::chrono::seconds(2)).count();
  constexpr Nanoseconds kAgainLimit = std::chrono::milliseconds(50);
  auto& patience = *static_cast<Patience*>(self);
  const std::int64_t now_ns = mono_now_ns();
  if (times == 0) patience.begun_ns = now_ns;
  const bool again = patience.in_vain_ns != 0 && now_ns - patience.in_vain_ns < kAgainNs;
  const Nanoseconds limit =
      again ? std::min<Nanoseconds>(kAgainLimit, patience.limit) : Nanoseconds(patience.limit);
  if (now_ns - patience.begun_ns >= limit.count()) {
    patience.in_vain_ns = now_ns;
    return 0;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(std::min(times, 9) + 1));
  return 1;
}

Database Database::in_memory(const Database* original) {
  Database made;
  sqlite3* opened = nullptr;
  const int code = sqlite3_open(":memory:", &opened);
  made.database_.reset(opened);
  if (code != SQLITE_OK) fail(opened, "cannot make a database in memory");
  if (original != nullptr) {
    sqlite3_backup* copy = sqlite3_backup_init(opened, "main", original->database_.get(), "main");
    if (copy == nullptr) fail(opened, "cannot copy the database");
    sqlite3_backup_step(copy, -1);
    if (sqlite3_backup_finish(copy) != SQLITE_OK) fail(opened, "cannot copy the database");
  }
  made.execute("PRAGMA foreign_keys = ON");
  return made;
}

Statement Database::prepare(std::string_view sql) {
  return {database_.get(), sql};
}

void Database::execute(const std::string& sql) {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    fail(database_.get(), "the database failed");
}

void Database::define(const std::string& name, std::function<bool(std::string_view)> holds) {
  define_function(database_.get(), name, std::move(holds), [](sqlite3_value* value) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
    return text == nullptr
               ? std::string_view()
               : std::string_view(text, static_cast<std::size_t>(sqlite3_value_bytes(value)));
  });
}

void Database::define(const std::string& name, std::function<bool(std::int64_t)> holds) {
  define_function(database_.get(), name, std::move(holds), sqlite3_value_int64);
}

std::int64_t Database::changes() const {
  return sqlite3_changes64(database_.get());
}

std::int64_t Database::user_version() {
  Statement version = prepare("PRAGMA user_version");
  return version.step() ? version.number(0) : 0;
}

void Database::set_user_version(std::int64_t version) {
  execute(fmt::format("PRAGMA user_version = {}", version));
}

void Database::reset() {
  sqlite3* database = database_.get();
  // SQLite has to have looked at the file once; what it thinks of it is of no matter.
  sqlite3_exec(database, "PRAGMA schema_version", nullptr, nullptr, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_RESET_DATABASE, 1, nullptr);
  const int code = sqlite3_exec(database, "VACUUM", nullptr, nullptr, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_RESET_DATABASE, 0, nullptr);
  if (code != SQLITE_OK) fail(database, "cannot empty the database");
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.prepare("BEGIN IMMEDIATE").run();
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (...) {
    // The next BEGIN reports what is wrong.
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace assay::database
