#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"
#include "telemetry/table.h"

namespace assay::telemetry {
namespace {

using testing::ElementsAre;

TEST(Table, ReadsRowsWithUnknownValues) {
  const TemporaryFolder folder;
  folder.write("t.csv", table_header() +
                            "\n10,20,node,0.5,100,200,,,,,,,,1,2,3,4\n"
                            "11,21,dev0,,,,57.125,1e3,31,,,1,0,,,,\n");
  const Table table = read_table(folder.path() / "t.csv");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.malformed_rows, 0U);
  EXPECT_THAT(table.sources, ElementsAre("node", "dev0"));
  EXPECT_EQ(table.rows[0].mono_ns, 10);
  EXPECT_EQ(table.rows[0].wall_ns, 20);
  EXPECT_EQ(table.rows[0][Column::util], 0.5);
  EXPECT_EQ(table.rows[0][Column::net_tx_bps], 4);
  EXPECT_TRUE(std::isnan(table.rows[0][Column::power_w]));
  EXPECT_EQ(table.rows[1][Column::power_w], 57.125);
  EXPECT_EQ(table.rows[1][Column::energy_j], 1000);
  EXPECT_EQ(table.rows[1][Column::throttle], 1);
}

TEST(Table, AbsentFileIsEmpty) {
  const Table table = read_table("/nonexistent/telemetry.csv");
  EXPECT_TRUE(table.rows.empty());
  EXPECT_EQ(table.malformed_rows, 0U);
}

TEST(Table, CountsATornLastLineEvenWhenItReadsWell) {
  const TemporaryFolder folder;
  folder.write("t.csv",
               table_header() + "\n1,2,node,0.5,,,,,,,,,,,,,\n3,4,node,0.5,,,,,,,,,,,,,12");
  const Table table = read_table(folder.path() / "t.csv");
  EXPECT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.malformed_rows, 1U);
}

TEST(Table, SkipsAndCountsBrokenLines) {
  const TemporaryFolder folder;
  const std::string good = "1,2,node,0.5,,,,,,,,,,,,,\n";
  std::string text = table_header() + "\n" + good;
  for (const char* bad : {"hello\n", "1,2\n", "x,2,node,,,,,,,,,,,,,,\n", "1,2,,,,,,,,,,,,,,,\n",
                          "1,2,node,nan,,,,,,,,,,,,,\n", "1,2,node,inf,,,,,,,,,,,,,\n",
                          "1,2,node,0.5x,,,,,,,,,,,,,\n", "1,2,node,,,,,,,,,,,,,,,9\n"})
    text += bad;
  text.append("\0\0\0\n", 4);
  folder.write("t.csv", text + good);
  const Table table = read_table(folder.path() / "t.csv");
  EXPECT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.malformed_rows, 9U);
}

TEST(Table, AnotherHeaderGivesNoRowsAndCountsAllLines) {
  const TemporaryFolder folder;
  folder.write("t.csv", "time,value\n1,2,node,0.5,,,,,,,,,,,,,\n");
  const Table table = read_table(folder.path() / "t.csv");
  EXPECT_TRUE(table.rows.empty());
  EXPECT_EQ(table.malformed_rows, 2U);
}

TEST(Table, HasANameForEveryColumn) {
  for (std::size_t i = 0; i < kColumns; ++i) {
    const auto column = static_cast<Column>(i);
    EXPECT_EQ(parse_column(column_name(column)), column);
  }
  EXPECT_FALSE(parse_column("utilisation"));
}

}  // namespace
}  // namespace assay::telemetry
