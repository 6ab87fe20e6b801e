#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "database/database.h"
#include "temporary_folder.h"

namespace assay::database {
namespace {

class DatabaseTest : public assay::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "a.db"; }

  static Options rollback() {
    Options options;
    options.journal = Options::Journal::rollback;
    options.wait = std::chrono::milliseconds(50);
    return options;
  }
  static void fill(Database& database) {
    database.execute("CREATE TABLE t (value TEXT); INSERT INTO t VALUES ('kept')");
  }
  static std::string content(Database& database) {
    Statement read = database.prepare("SELECT value FROM t");
    return read.step() ? read.text(0) : "nothing";
  }
  template <class F>
  static Cause cause_of(F&& f) {
    try {
      f();
    } catch (const DatabaseError& error) {
      return error.cause();
    }
    ADD_FAILURE() << "no error";
    return Cause::other;
  }

  assay::testing::TemporaryFolder folder_;
};

TEST_F(DatabaseTest, AFileThatIsNoDatabaseIsDamagedAndCanBeEmptied) {
  folder_.write("a.db", std::string(5000, 'x'));
  EXPECT_EQ(cause_of([&] { (void)Database(file(), rollback()).user_version(); }), Cause::damaged);
  Options empty = rollback();
  empty.empty = true;
  Database database(file(), empty);
  fill(database);
  Database again(file(), rollback());
  EXPECT_EQ(content(again), "kept");
}

// It would be gone with the process.
TEST_F(DatabaseTest, NothingIsWrittenToAFileThatWasRemovedOrReplaced) {
  for (const auto journal : {Options::Journal::rollback, Options::Journal::write_ahead}) {
    Options options = rollback();
    options.journal = journal;
    Database database(file(), options);
    fill(database);
    const auto write = [&] { database.prepare("INSERT INTO t VALUES ('lost')").run(); };
    const auto begin = [&] { const Transaction transaction(database); };
    write();
    std::filesystem::remove(file());
    EXPECT_EQ(cause_of(write), Cause::not_writable);
    EXPECT_EQ(cause_of(begin), Cause::not_writable);
    folder_.write("a.db", "");
    EXPECT_EQ(cause_of(write), Cause::not_writable) << "another file";
    EXPECT_EQ(content(database), "kept") << "what is there can be read";
    std::filesystem::remove(file());
  }
}

TEST_F(DatabaseTest, AFullDiskIsCalledSo) {
  Database database(file(), rollback());
  fill(database);
  database.execute("PRAGMA max_page_count = 3");
  EXPECT_EQ(cause_of([&] {
              for (int i = 0; i < 100; ++i)
                database.prepare("INSERT INTO t VALUES (?1)").bind(1, std::string(4000, 'x')).run();
            }),
            Cause::disk_full);
}

TEST_F(DatabaseTest, ACutFileIsDamagedAndCanBeEmptied) {
  {
    Database database(file(), rollback());
    database.execute("CREATE TABLE t (value TEXT)");
    Transaction transaction(database);
    for (int i = 0; i < 2000; ++i) database.execute("INSERT INTO t VALUES ('a longer text')");
    transaction.commit();
  }
  std::filesystem::resize_file(file(), 20'000);
  EXPECT_EQ(cause_of([&] {
              Database database(file(), rollback());
              Statement all = database.prepare("SELECT count(*), max(value) FROM t");
              while (all.step()) {
              }
            }),
            Cause::damaged);
  Options empty = rollback();
  empty.empty = true;
  Database database(file(), empty);
  EXPECT_EQ(database.user_version(), 0);
  fill(database);
  EXPECT_EQ(content(database), "kept");
}

TEST_F(DatabaseTest, AnotherWritersLockIsWaitedForAndThenSaid) {
  Database one(file(), rollback());
  fill(one);
  Database two(file(), rollback());
  Transaction busy(one);
  EXPECT_EQ(cause_of([&] { Transaction second(two); }), Cause::locked);
  busy.commit();
  Transaction second(two);
  second.commit();
}

TEST_F(DatabaseTest, AReadOnlyDatabaseIsReadAndCopiedButNotWritten) {
  {
    Database database(file(), rollback());
    fill(database);
    database.set_user_version(7);
  }
  Options options = rollback();
  options.read_only = true;
  Database database(file(), options);
  EXPECT_EQ(database.user_version(), 7);
  EXPECT_EQ(cause_of([&] { database.execute("DELETE FROM t"); }), Cause::not_writable);
  Database copy = Database::in_memory(&database);
  copy.execute("UPDATE t SET value = 'other'");
  EXPECT_EQ(content(copy), "other");
  EXPECT_EQ(content(database), "kept");
}

TEST_F(DatabaseTest, AFolderThatIsNotThereIsSaid) {
  EXPECT_EQ(cause_of([&] { Database(folder_.path() / "no/a.db"); }), Cause::not_writable);
}

TEST_F(DatabaseTest, WhoWaitedInVainDoesNotWaitAgain) {
  constexpr auto kWait = std::chrono::seconds(3);
  Database holder(file());
  fill(holder);
  Database other(file(), {.wait = kWait});
  const auto try_to_write = [&] { Transaction(other).commit(); };
  const auto taken = [&](Cause expected) {
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(cause_of(try_to_write), expected);
    return std::chrono::steady_clock::now() - begun;
  };
  {
    const Transaction held(holder);
    EXPECT_GE(taken(Cause::locked), kWait);
    EXPECT_LT(taken(Cause::locked), kWait / 2);
    EXPECT_LT(taken(Cause::locked), kWait / 2);
  }
  try_to_write();
}

}  // namespace
}  // namespace assay::database
