#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace assay::database {

/// One prepared statement; values are bound, never pasted. Errors are Error of kind environment.
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

/// A SQLite file: write-ahead log, foreign keys, every commit on the disk before it returns. Not
/// thread-safe; several processes may have it open.
class Database {
 public:
  explicit Database(const std::filesystem::path& path);
  [[nodiscard]] Statement prepare(std::string_view sql);
  void execute(const std::string& sql);
  [[nodiscard]] std::int64_t changes() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
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
