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

// A table for terminals and pages, whose columns are defined only once.

enum class Align { left, right };
enum class Cut { never, end, middle };  ///< where to cut a text that is too long

/// How a text is shown to a reader of another language.
enum class Shown {
  translated,    ///< Assay's own
  if_a_message,  ///< of unknown origin: translated as a whole or not at all
  as_it_is,      ///< a name
};

struct Column {
  std::string title = {};
  Align align = Align::left;

  // For terminals; widths are in character cells.
  std::size_t min_width = 0;
  Cut cut = Cut::never;
  /// A table that is too wide takes room from the columns that may be cut, one after another: down
  /// to their soft minimum, then to their hard one.
  std::size_t soft_min = 0;
  std::size_t hard_min = 0;
  /// Before going below soft minima it drops columns, those with the largest number first; 0 is
  /// never dropped.
  int leave_out = 0;

  /// The CSS class of its heading and cells on a page; replaces the "n" of right-aligned ones.
  std::string css = {};
  /// On a page: the target of its heading's link, such as the same table sorted by it.
  std::string link = {};
  std::string sorted = {};  ///< on a page: "ascending" or "descending" if the table is sorted by it

  Shown shown = Shown::translated;  ///< for its title
};

struct Cell {
  Cell(std::string_view plain = {}, std::string css_class = {}, std::string tooltip = {})
      : text(plain), css(std::move(css_class)), title(std::move(tooltip)) {}
  Cell(const std::string& plain) : text(plain) {}
  Cell(const char* plain) : text(plain) {}
  Cell(Html markup, std::string css_class = {})
      : html(std::move(markup)), css(std::move(css_class)) {}

  std::string text;          ///< any content is made safe to show
  std::string color = {};    ///< on a terminal: "1;32"
  std::optional<Html> html;  ///< on a page, replaces the text
  std::string css;           ///< on a page: its class, in addition to the column's
  std::string title;         ///< on a page: its tooltip
  std::size_t span = 1;      ///< on a page: the number of columns it spans
  Shown shown = Shown::translated;
};

/// A text that is not Assay's own, such as a suite's description.
[[nodiscard]] Cell free_text(std::string_view text);
/// A name given by a person, such as a case's.
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
  std::string_view mark = "…";  ///< replaces the part that was cut
  std::string heading = {};     ///< the headings' color; "" for none
  bool color = false;           ///< false: no escape sequences
};

/// The headings, then one line per row, in the reader's language, with two blanks between columns.
/// Wide characters take two cells.
[[nodiscard]] std::vector<std::string> text_lines(const Table& table, const TextStyle& style = {});

struct HtmlStyle {
  std::string css = {};
  /// Makes each row's first cell its heading and gives the others their column's title, so that a
  /// narrow screen can show every row as a card.
  bool cards = false;
};

[[nodiscard]] Html to_html(const Table& table, const HtmlStyle& style = {});

/// Gives the content its own scroll bar if the page is too narrow.
[[nodiscard]] Html scrolling(const Html& wide);

/// `text` in ANSI color `code`, or unchanged without `color`.
[[nodiscard]] std::string paint(bool color, std::string_view code, std::string_view text);

}  // namespace assay::page
