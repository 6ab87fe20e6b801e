#include <gmock/gmock.h>

#include "lang/language.h"
#include "page/table.h"
#include "page/text_width.h"

namespace assay::page {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Table two_columns() {
  return {{{"NAME"}, {"COUNT", Align::right}}, {{{"a", "12"}}, {{"longer", "3"}}}};
}

TEST(TextTable, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_THAT(text_lines(two_columns()),
              ElementsAre("NAME    COUNT", "a          12", "longer      3"));
}

TEST(TextTable, LeavesAForeignTextThatIsNoMessageAsItIs) {
  const std::string text = "Summary (2 cases)";
  lang::set_reader_language(lang::Language::chinese);
  const auto lines = text_lines({{{"DESCRIPTION"}}, {{{free_text(text)}}, {{text}}}});
  lang::set_reader_language(lang::Language::english);
  EXPECT_EQ(lines[1], text);
  EXPECT_NE(lines[2], text);
}

TEST(TextTable, WideCharactersTakeTwoColumns) {
  Table table = two_columns();
  table.rows[0].cells[0] = "模型";
  const auto lines = text_lines(table);
  EXPECT_EQ(columns_of(lines[1]), columns_of(lines[2]));
}

TEST(TextTable, LinesHaveNoBlanksAtTheirEnd) {
  EXPECT_THAT(text_lines({{{"A"}, {"B"}}, {{{"x", ""}}}}), ElementsAre("A  B", "x"));
}

TEST(TextTable, IsIndentedAndKeepsTheLeastWidth) {
  const Table table{{{.title = "N", .align = Align::right, .min_width = 4}}, {{{"7"}}}};
  EXPECT_THAT(text_lines(table, {.indent = 2}), ElementsAre("     N", "     7"));
}

TEST(TextTable, GivesRoomInTwoSteps) {
  const Table table{{{.title = "A", .cut = Cut::end, .soft_min = 8, .hard_min = 4},
                     {.title = "B", .cut = Cut::end, .soft_min = 6, .hard_min = 6},
                     {.title = "C"}},
                    {{{"aaaaaaaaaaaa", "bbbbbbbbbbbb", "fixed"}}}};
  EXPECT_EQ(text_lines(table, {.width = 30})[1], "aaaaaaaa…  bbbbbbbbbbbb  fixed")
      << "the first column first";
  EXPECT_EQ(text_lines(table, {.width = 25})[1], "aaaaaaa…  bbbbbbb…  fixed");
  EXPECT_EQ(text_lines(table, {.width = 10})[1], "aaa…  bbbbb…  fixed")
      << "never below the minimum";
}

TEST(TextTable, LeavesOutColumnsBeforeItGoesBelowSoftMinima) {
  const Table table{{{.title = "A", .cut = Cut::end, .soft_min = 6, .hard_min = 3},
                     {.title = "B", .leave_out = 1},
                     {.title = "C", .leave_out = 2}},
                    {{{"aaaaaaaa", "bbbb", "电力"}}}};
  EXPECT_EQ(text_lines(table, {.width = 20})[1], "aaaaaaaa  bbbb  电力");
  EXPECT_EQ(text_lines(table, {.width = 18})[1], "aaaaa…  bbbb  电力");
  EXPECT_EQ(text_lines(table, {.width = 17})[1], "aaaaaaaa  bbbb") << "with all its room again";
  EXPECT_EQ(text_lines(table, {.width = 9})[1], "aaaaaaaa");
  EXPECT_EQ(text_lines(table, {.width = 4})[1], "aaa…");
  EXPECT_THAT(text_lines(table, {.width = 9}), ElementsAre("A", "aaaaaaaa")) << "and its heading";
}

TEST(TextTable, ColorsOnlyWhereThereAreColors) {
  Table table = two_columns();
  table.rows[0].cells[1].color = "31";
  EXPECT_EQ(text_lines(table, {.heading = "2", .color = true})[0], "\x1b[2mNAME    COUNT\x1b[0m");
  EXPECT_EQ(text_lines(table, {.color = true})[1], "a          \x1b[31m12\x1b[0m");
  EXPECT_THAT(text_lines(table, {.heading = "2"})[1], Not(HasSubstr("\x1b")));
}

TEST(TextTable, HostileTextStaysInItsLine) {
  EXPECT_EQ(text_lines({{{"A"}}, {{{"x\ny\t\x1b[31mz\xff"}}}})[1], "x y z\xEF\xBF\xBD");
}

TEST(HtmlTable, NumbersHaveTheirClass) {
  EXPECT_EQ(to_html(two_columns()).str(),
            "<table><thead><tr><th>NAME</th><th class=\"n\">COUNT</th></tr></thead><tbody>\n"
            "<tr><td>a</td><td class=\"n\">12</td></tr>\n"
            "<tr><td>longer</td><td class=\"n\">3</td></tr>\n"
            "</tbody></table>");
}

TEST(HtmlTable, TextIsEscapedAndHtmlIsNot) {
  const Table table{{{"<A>"}, {"B"}}, {{{"<script>", Html("<b>x</b>")}, "\"odd"}}};
  EXPECT_EQ(to_html(table).str(),
            "<table><thead><tr><th>&lt;A&gt;</th><th>B</th></tr></thead><tbody>\n"
            "<tr class=\"&quot;odd\"><td>&lt;script&gt;</td><td><b>x</b></td></tr>\n"
            "</tbody></table>");
}

TEST(HtmlTable, CellsHaveClassesTooltipsAndSpans) {
  Table table{{{"A", Align::right}, {.title = "B", .css = "wide"}}};
  table.rows.push_back({{{"1", "w", "a \"tip\""}, "2"}});
  table.rows.push_back({{"both"}});
  table.rows[1].cells[0].span = 2;
  const std::string html = to_html(table, {.css = "trials"}).str();
  EXPECT_THAT(html, HasSubstr("<table class=\"trials\">"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n w\" title=\"a &quot;tip&quot;\">1</td>"));
  EXPECT_THAT(html, HasSubstr("<th class=\"wide\">B</th>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"wide\">2</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\" colspan=\"2\">both</td>"));
}

TEST(HtmlTable, RowsThatBecomeCardsNameTheirCells) {
  EXPECT_THAT(to_html(two_columns(), {.cards = true}).str(),
              HasSubstr("<th scope=\"row\">a</th><td class=\"n\" data-label=\"COUNT\">12</td>"));
}

TEST(HtmlTable, NamesAreMarkedAndTheirColumnsLabelsAreNot) {
  Table table{{{"Host"}, {.title = "note", .shown = Shown::as_it_is}}, {{{"x", name("note")}}}};
  table.rows[0].cells[1].title = "note";
  const std::string html = to_html(table, {.cards = true}).str();
  EXPECT_THAT(html, HasSubstr("<th><span translate=\"no\">note</span></th>"));
  EXPECT_THAT(html, HasSubstr("<td data-label=\"note\">"
                              "<span translate=\"no\" title=\"note\">note</span></td>"));
}

}  // namespace
}  // namespace assay::page
