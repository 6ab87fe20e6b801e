#include <array>

#include <gtest/gtest.h>

#include "database/migrate.h"
#include "error_of.h"
#include "temporary_folder.h"

namespace assay::database {
namespace {

constexpr std::array<std::string_view, 2> kSteps{
    "CREATE TABLE things (name TEXT); INSERT INTO things VALUES ('old')",
    "ALTER TABLE things ADD COLUMN size INTEGER; UPDATE things SET size = 7"};

std::int64_t version_of(Database& database) {
  Statement query = database.prepare("PRAGMA user_version");
  return query.step() ? query.number(0) : -1;
}

TEST(Migrate, MakesTheNewestSchemaOfAnEmptyFileAndOfEveryEarlierOne) {
  for (std::size_t from = 0; from <= kSteps.size(); ++from) {
    testing::TemporaryFolder folder;
    Database database(folder.path() / "x.db");
    migrate(database, std::span(kSteps).first(from));
    migrate(database, kSteps);
    EXPECT_EQ(version_of(database), 2);
    Statement query = database.prepare("SELECT name, size FROM things");
    ASSERT_TRUE(query.step());
    EXPECT_EQ(query.text(0), "old");
    EXPECT_EQ(query.number(1), 7);
  }
}

TEST(Migrate, AStepThatFailsLeavesTheVersionBeforeIt) {
  testing::TemporaryFolder folder;
  Database database(folder.path() / "x.db");
  const std::array<std::string_view, 2> broken{kSteps[0],
                                               "INSERT INTO things VALUES ('half'); nonsense"};
  EXPECT_NE(testing::error_of([&] {
              migrate(database, broken);
              return 0;
            }),
            "no error");
  EXPECT_EQ(version_of(database), 1);
  Statement query = database.prepare("SELECT COUNT(*) FROM things");
  ASSERT_TRUE(query.step());
  EXPECT_EQ(query.number(0), 1);
}

TEST(Migrate, ANewerFileIsRefused) {
  testing::TemporaryFolder folder;
  Database database(folder.path() / "x.db");
  database.execute("PRAGMA user_version = 9");
  const std::string error = testing::error_of([&] {
    migrate(database, kSteps);
    return 0;
  });
  EXPECT_NE(error.find("schema 9; this version of Assay knows 2"), std::string::npos) << error;
  EXPECT_NE(error.find("x.db"), std::string::npos) << error;
  EXPECT_EQ(version_of(database), 9);
}

}  // namespace
}  // namespace assay::database
