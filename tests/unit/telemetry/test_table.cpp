#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"
#include "telemetry/source_kind.h"
#include "telemetry/table_writer.h"
#include "telemetry/telemetry_table.h"

namespace assay::telemetry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

// In the order of the columns.
std::vector<double> values_of(const Row& row) {
  return {row.values.begin(), row.values.end()};
}

Table table_of(std::string_view text) {
  const assay::testing::TemporaryFolder folder;
  folder.write("t.csv", text);
  return read_table(folder.path() / "t.csv");
}

// As files were written before the header decided what is in a row.
TEST(Table, ReadsAFileOfTheFirstVersion) {
  const Table table = read_table(ASSAY_SOURCE_DIR "/tests/fixtures/telemetry/of_0.1.0.csv");
  EXPECT_EQ(table.malformed_rows, 0U);
  EXPECT_THAT(table.sources, ElementsAre("node", "rapl0", "dram0", "dev0", "ipmi", "cpu0", "cpu1"));
  ASSERT_EQ(table.rows.size(), 11U);
  EXPECT_TRUE(std::isnan(table.rows[0][Column::util]));
  EXPECT_EQ(table.rows[4][Column::power_w], 412);
  const Row node = rows_of(table, "node")[1];
  EXPECT_EQ(node.mono_ns, 81531250131407);
  EXPECT_EQ(node.wall_ns, 1763252102250131407);
  EXPECT_THAT(values_of(node), ElementsAre(0.4821, 5611278336, 67108864000, IsNan(), IsNan(),
                                           IsNan(), 2795, IsNan(), IsNan(), IsNan(), IsNan(),
                                           IsNan(), IsNan(), 4096, 1228800, 66012, 20480));
  const Row device = rows_of(table, "dev0")[1];
  EXPECT_THAT(values_of(device),
              ElementsAre(0.97, 31406948352, 42505273344, 398.54, IsNan(), 68.5, 1410, 1215, 1, 2,
                          IsNan(), IsNan(), IsNan(), IsNan(), IsNan(), IsNan(), IsNan()));
  EXPECT_EQ(rows_of(table, "rapl0")[1][Column::energy_j], 262238.578);
}

TEST(Table, GivesBackWhatWasWritten) {
  Values values;
  values[Column::util] = 0.5;
  values[Column::mem_used_bytes] = 1234567890123;
  values[Column::temp_c] = -3.5;
  std::string text = table_header() + "\n";
  append_row(text, {10, 20}, "dev0", values);
  EXPECT_THAT(text, HasSubstr("\n10,20,dev0,0.5000,1234567890123,,,,-3.5,,,,,,,,,,,\n"));
  const Table table = table_of(text);
  ASSERT_EQ(table.rows.size(), 1U);
  for (const ColumnInfo& column : kColumnTable) {
    const double expected = values[column.column];
    const double read = table.rows[0][column.column];
    EXPECT_TRUE(read == expected || (std::isnan(read) && std::isnan(expected))) << column.name;
  }
}

TEST(Table, AColumnItDoesNotKnowIsIgnoredWhateverIsInIt) {
  const Table table = table_of(
      "mono_ns,wall_ns,source,fan_rpm,util,note\n1,2,dev0,1200,0.5,hot\n3,4,dev0,,0.75,\n");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.malformed_rows, 0U);
  EXPECT_EQ(table.rows[0][Column::util], 0.5);
  EXPECT_EQ(table.rows[1][Column::util], 0.75);
}

TEST(Table, AColumnThatTheFileLacksIsNotKnown) {
  const Table table = table_of("mono_ns,wall_ns,source,power_w\n1,2,ipmi,250.5\n");
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0][Column::power_w], 250.5);
  EXPECT_TRUE(std::isnan(table.rows[0][Column::util]));
  EXPECT_TRUE(std::isnan(table.rows[0][Column::net_tx_bps]));
}

TEST(Table, ColumnsComeInAnyOrder) {
  const Table table = table_of("source,util,wall_ns,temp_c,mono_ns\ndev0,0.5,20,61.5,10\n");
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_THAT(table.sources, ElementsAre("dev0"));
  EXPECT_EQ(table.rows[0].mono_ns, 10);
  EXPECT_EQ(table.rows[0].wall_ns, 20);
  EXPECT_EQ(table.rows[0][Column::util], 0.5);
  EXPECT_EQ(table.rows[0][Column::temp_c], 61.5);
}

TEST(Table, AColumnThatIsThereTwiceLeavesNoRows) {
  const Table table = table_of("mono_ns,wall_ns,source,util,util\n1,2,node,0.5,0.6\n");
  EXPECT_TRUE(table.rows.empty());
  EXPECT_EQ(table.malformed_rows, 2U);
}

TEST(Table, AHeaderWithoutTimesOrSourceLeavesNoRows) {
  for (const char* header : {"time,value", "mono_ns,wall_ns,util", "mono_ns,source,util",
                             "wall_ns,source,util", "mono_ns,wall_ns,source,mono_ns"}) {
    const Table table = table_of(fmt::format("{}\n1,2,node,0.5\n", header));
    EXPECT_TRUE(table.rows.empty()) << header;
    EXPECT_EQ(table.malformed_rows, 2U) << header;
  }
}

TEST(Table, ALaterHeaderHoldsForTheRowsAfterIt) {
  const Table table = table_of(
      "mono_ns,wall_ns,source,util\n1,2,node,0.5\nmono_ns,wall_ns,source,power_w,util\n"
      "3,4,node,100,0.25\n");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.malformed_rows, 0U);
  EXPECT_EQ(table.rows[0][Column::util], 0.5);
  EXPECT_EQ(table.rows[1][Column::util], 0.25);
  EXPECT_EQ(table.rows[1][Column::power_w], 100);
}

TEST(Table, AnAbsentAndAnEmptyFileHaveNoRows) {
  const Table absent = read_table("/nonexistent/telemetry.csv");
  EXPECT_TRUE(absent.rows.empty());
  EXPECT_EQ(absent.malformed_rows, 0U);
  const Table empty = table_of("");
  EXPECT_TRUE(empty.rows.empty());
  EXPECT_EQ(empty.malformed_rows, 0U);
}

TEST(Table, CountsATornLastLineEvenWhenItReadsWell) {
  const Table table =
      table_of(table_header() + "\n1,2,node,0.5,,,,,,,,,,,,,,,,\n3,4,node,0.5,,,,,,,,,,,,,,,,12");
  EXPECT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.malformed_rows, 1U);
  EXPECT_EQ(table_of("mono_ns,wall_ns,source,ut").malformed_rows, 1U);
}

TEST(Table, SkipsAndCountsBrokenLines) {
  const std::string good = "1,2,node,0.5,,,,,,,,,,,,,,,,\n";
  std::string text = table_header() + "\n" + good;
  for (const char* bad :
       {"hello\n", "1,2\n", "x,2,node,,,,,,,,,,,,,,,,,\n", "1,2,,,,,,,,,,,,,,,,,,\n",
        "1,2,node,nan,,,,,,,,,,,,,,,,\n", "1,2,node,inf,,,,,,,,,,,,,,,,\n",
        "1,2,node,0.5x,,,,,,,,,,,,,,,,\n", "1,2,node,,,,,,,,,,,,,,,,,,9\n"})
    text += bad;
  text.append("\0\0\0\n", 4);
  const Table table = table_of(text + good);
  EXPECT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.malformed_rows, 9U);
}

TEST(Table, WhatAColumnCannotHoldIsNotKnownAndCounted) {
  const Table table = table_of(
      "mono_ns,wall_ns,source,util,power_w,throttle,temp_c\n"
      "1,1,dev0,0.5,-100,0,-20\n2,2,dev1,7.5,1e12,2,20\n3,3,dev1,1,99999,1,20\n");
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.malformed_rows, 0U);
  EXPECT_EQ(table.impossible_values, 4U);
  EXPECT_EQ(table.first_impossible, "power_w of dev0 is -100");
  EXPECT_EQ(table.rows[0][Column::util], 0.5);
  EXPECT_TRUE(std::isnan(table.rows[0][Column::power_w]));
  EXPECT_EQ(table.rows[0][Column::temp_c], -20);
  for (const Column column : {Column::util, Column::power_w, Column::throttle}) {
    EXPECT_TRUE(std::isnan(table.rows[1][column])) << info(column).name;
    EXPECT_FALSE(std::isnan(table.rows[2][column])) << info(column).name;
  }
}

TEST(Columns, AreFoundByName) {
  for (const ColumnInfo& column : kColumnTable) EXPECT_EQ(parse_column(column.name), column.column);
  EXPECT_FALSE(parse_column("utilisation"));
}

TEST(Columns, AreInTheDocsAsInTheTable) {
  const std::string docs = read_file(ASSAY_SOURCE_DIR "/docs/telemetry.md");
  EXPECT_THAT(docs, HasSubstr("\n    " + table_header() + "\n"));
  std::string table = "| column | unit | meaning |\n|---|---|---|\n";
  for (const ColumnInfo& column : kColumnTable) {
    table += fmt::format("| `{}` | {} | {} |\n", column.name, unit_of(column.quantity),
                         column.description);
    for (const Family& family : {column.node, column.device, column.part})
      EXPECT_THAT(docs, HasSubstr(family.name.empty() ? "" : fmt::format("`{}`", family.name)));
  }
  EXPECT_THAT(docs, HasSubstr("\n" + table + "\n"));
  for (const ColumnInfo& column : kColumnTable) {
    const Bounds bounds = bounds_of(column.quantity);
    if (column.quantity == Quantity::ratio || column.quantity == Quantity::flag) continue;
    EXPECT_THAT(docs, HasSubstr(fmt::format("\n| {} | {:g} | {:g} |\n", unit_of(column.quantity),
                                            bounds.least, bounds.most)));
  }
}

TEST(Power, PackagesAndDevicesAddUp) {
  for (const char* source : {"rapl0", "rapl12", "dev0", "dev15"})
    EXPECT_TRUE(adds_up(source, /*whole_node_known=*/false)) << source;
  for (const char* source : {"node", "cpu0", "dram0", "psys", "ipmi", "rapl", "device", ""})
    EXPECT_FALSE(adds_up(source, /*whole_node_known=*/false)) << source;
}

TEST(Power, OfTheWholeNodeStandsAlone) {
  EXPECT_TRUE(adds_up("ipmi", /*whole_node_known=*/true));
  for (const char* source : {"rapl0", "dev0", "node", "psys"})
    EXPECT_FALSE(adds_up(source, /*whole_node_known=*/true)) << source;
}

}  // namespace
}  // namespace assay::telemetry
