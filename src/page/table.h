#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "page/markup.h"

namespace assay::page {

// A table for terminals and pages: its columns are defined once.

enum class Align { left, right };
enum class Cut { never, end, middle };  ///< where a text that is too long is cut

/// How a text is shown to who reads another language.
enum class Shown {
  translated,    ///< Assay's own
  if_a_message,  ///< anybody may have written it: translated as a whole or not at all
  as_it_is,      ///< a name
};

struct Column {
  std::string title = {};
  Align align = Align::left;

  // On a terminal; widths in character cells.
  std::size_t min_width = 0;
  Cut cut = Cut::never;
  /// A table that is too wide takes room from the columns that may be cut, one after the other:
  /// down to their soft minimum, then to their hard one.
  std::size_t soft_min = 0;
  std::size_t hard_min = 0;
  /// Before it goes below soft minima, it leaves out columns, the greatest of these numbers first;
  /// 0 stays.
  int leave_out = 0;

  /// The CSS class of its heading and cells on a page; it replaces the "n" of right-aligned ones.
  std::string css = {};
  /// On a page: where its heading leads, such as to the same table sorted by it.
  std::string link = {};
  std::string sorted = {};  ///< on a page: "ascending" or "descending" when the table is, by it

  Shown shown = Shown::translated;  ///< its title
};

struct Cell {
  Cell(std::string_view plain = {}, std::string css_class = {}, std::string tooltip = {})
      : text(plain), css(std::move(css_class)), title(std::move(tooltip)) {}
  Cell(const std::string& plain) : text(plain) {}
  Cell(const char* plain) : text(plain) {}
  Cell(Html markup, std::string css_class = {})
      : html(std::move(markup)), css(std::move(css_class)) {}

  std::string text;          ///< whatever it holds is made safe to show
  std::string color = {};    ///< on a terminal: "1;32"
  std::optional<Html> html;  ///< on a page, instead of the text
  std::string css;           ///< on a page: its class, beside the column's
  std::string title;         ///< on a page: its tooltip
  std::size_t span = 1;      ///< on a page: columns that it takes
  Shown shown = Shown::translated;
};

/// A text that is not Assay's own, as the description of a suite.
[[nodiscard]] Cell free_text(std::string_view text);
/// A name that somebody gave, as that of a case.
[[nodiscard]] Cell name(std::string_view text);

struct Row {
  std::vector<Cell> cells;
  std::string css = {};
};

struct Table {
  std::vector<Column> columns;
  std::vector<Row> rows = {};
};

struct TextStyle {
  std::size_t width = std::numeric_limits<std::size_t>::max();
  std::size_t indent = 0;
  std::string_view mark = "…";  ///< at the place of a cut
  std::string heading = {};     ///< color of the headings; "" for none
  bool color = false;           ///< false: no escape sequences
};

/// The headings, then one line for every row, in the reader's language, columns two blanks
/// apart. Wide characters take two columns.
[[nodiscard]] std::vector<std::string> text_lines(const Table& table, const TextStyle& style = {});

struct HtmlStyle {
  std::string css = {};
  /// The first cell of a row is its heading and the others carry their column's title, so that a
  /// narrow screen can show every row as a card.
  bool cards = false;
};

[[nodiscard]] Html to_html(const Table& table, const HtmlStyle& style = {});

/// Gives the content its own scroll bar where the page is too narrow.
[[nodiscard]] Html scrolling(const Html& wide);

/// `text` in ANSI color `code`, or as it is.
[[nodiscard]] std::string paint(bool color, std::string_view code, std::string_view text);

}  // namespace assay::page
