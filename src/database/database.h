#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace assay::database {

/// What a caller can do something about.
enum class Cause {
  damaged,       ///< not a database, or its pages contradict each other
  locked,        ///< another process held it for longer than Options::wait
  not_writable,  ///< the file or its folder cannot be opened or written, or it was removed
  disk_full,
  other,
};

/// Of kind environment. Everything here throws it.
class DatabaseError : public Error {
 public:
  DatabaseError(Cause cause, std::string what, std::string where, std::string advice = {})
      : Error(ErrorKind::environment, std::move(what), std::move(where), std::move(advice)),
        cause_(cause) {}
  [[nodiscard]] Cause cause() const noexcept { return cause_; }

 private:
  Cause cause_;
};

struct Options {
  /// A write-ahead log lets readers go on beside a writer, but only on a local file system; with a
  /// rollback journal, network file systems do too, and a file can be read where nobody may write.
  enum class Journal { write_ahead, rollback };
  Journal journal = Journal::write_ahead;
  /// Every commit is on the disk before it returns. Without it, a loss of power may take the last
  /// ones back.
  bool durable = true;
  /// Empties the file first, even one that is damaged, under the locks of those that have it open.
  bool empty = false;
  bool read_only = false;   ///< the file must exist; its journal stays as it is
  bool one_thread = false;  ///< at a time uses it: nothing is locked for each row
  /// For other processes' locks. Who waited in vain does not wait as long again: while somebody
  /// keeps the file locked, and for two seconds after that, a failure comes after 50 ms.
  std::chrono::milliseconds wait{10'000};
};

/// Of a file behind a server: somebody waits for the answer.
inline constexpr std::chrono::milliseconds kWaitOfServers{1'500};

/// One prepared statement; values are bound, never pasted.
class Statement {
 public:
  Statement(sqlite3* database, std::string_view sql);
  Statement& bind(int index, std::string_view value);
  Statement& bind(int index, std::int64_t value);
  Statement& bind_real(int index, double value);
  Statement& bind_null(int index);
  /// Whether there is a (next) row.
  [[nodiscard]] bool step();
  /// Runs a statement that gives no rows to its end.
  void run();
  void reset();
  [[nodiscard]] std::string text(int column) const;     ///< NULL is ""
  [[nodiscard]] std::int64_t number(int column) const;  ///< NULL is 0
  [[nodiscard]] double real(int column) const;          ///< NULL is 0
  [[nodiscard]] bool is_null(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// A SQLite file, with foreign keys. Not thread-safe; several processes may have it open. Nothing
/// is written to one that was removed or replaced since it was opened: DatabaseError, not_writable.
class Database {
 public:
  explicit Database(const std::filesystem::path& path, const Options& options = {});
  /// Of this process alone, and gone with it; with the content of `original`, if one is given.
  [[nodiscard]] static Database in_memory(const Database* original = nullptr);

  [[nodiscard]] Statement prepare(std::string_view sql);
  void execute(const std::string& sql);
  /// Has SQL call `holds` by this name, with one value, until another one has the name. It must not
  /// throw. No statement of this connection runs meanwhile.
  void define(const std::string& name, std::function<bool(std::string_view)> holds);
  void define(const std::string& name, std::function<bool(std::int64_t)> holds);
  [[nodiscard]] std::int64_t changes() const;
  /// The number that the program that made the tables has given them; 0 in a new file.
  [[nodiscard]] std::int64_t user_version();
  void set_user_version(std::int64_t version);

 private:
  Database() = default;
  void reset();
  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct Patience {
    std::chrono::milliseconds limit{};
    std::int64_t begun_ns = 0;
    std::int64_t in_vain_ns = 0;  ///< when it was last given up; 0: never
    /// Of SQLite: whether to try again, after a pause that is over when this returns.
    static int go_on(void* self, int times) noexcept;
  };
  std::unique_ptr<Patience> patience_;  ///< before the connection, which knows where it is
  std::unique_ptr<sqlite3, Close> database_;
};

/// Rolled back unless committed.
class Transaction {
 public:
  explicit Transaction(Database& database);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace assay::database
