#include "page/table.h"

#include <algorithm>
#include <numeric>

#include "core/text.h"
#include "lang/language.h"
#include "page/text_width.h"

namespace assay::page {

namespace {

constexpr std::size_t kGap = 2;

// The cell as shown on a terminal, in the reader's language.
std::string one_line(const Cell& cell) {
  std::string clean = printable(cell.shown == Shown::translated     ? lang::tr(cell.text)
                                : cell.shown == Shown::if_a_message ? lang::tr_whole(cell.text)
                                                                    : cell.text);
  std::ranges::replace(clean, '\n', ' ');
  std::ranges::replace(clean, '\t', ' ');
  return clean;
}

Cell heading_cell(const Column& column) {
  Cell cell(column.title);
  cell.shown = column.shown;
  return cell;
}

std::size_t total_of(const std::vector<std::size_t>& widths) {
  return widths.empty() ? 0
                        : std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
}

enum class Least { soft, hard };

std::vector<std::size_t> widths_of(const Table& table, std::size_t room, Least least) {
  std::vector<std::size_t> widths;
  for (const Column& column : table.columns)
    widths.push_back(std::max(columns_of(one_line(heading_cell(column))), column.min_width));
  for (const Row& row : table.rows)
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      widths[i] = std::max(widths[i], columns_of(one_line(row.cells[i])));
  const auto shrink = [&](std::size_t Column::*min) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::size_t total = total_of(widths);
      const std::size_t keep = table.columns[i].*min;
      if (table.columns[i].cut != Cut::never && total > room && widths[i] > keep)
        widths[i] -= std::min(total - room, widths[i] - keep);
    }
  };
  shrink(&Column::soft_min);
  if (least == Least::hard) shrink(&Column::hard_min);
  return widths;
}

/// The table without the columns for which there is no room.
Table narrowed(Table table, std::size_t room) {
  while (total_of(widths_of(table, room, Least::soft)) > room) {
    const auto first = std::ranges::max_element(table.columns, {}, &Column::leave_out);
    if (first == table.columns.end() || first->leave_out == 0) break;
    const auto at = first - table.columns.begin();
    for (Row& row : table.rows)
      if (at < std::ssize(row.cells)) row.cells.erase(row.cells.begin() + at);
    table.columns.erase(first);
  }
  return table;
}

std::string fit(const Column& column, std::string_view text, std::size_t width,
                std::string_view mark) {
  if (column.cut == Cut::middle) return cut_middle(text, width, mark);
  return column.cut == Cut::end ? cut_to(text, width, mark) : std::string(text);
}

std::string attribute(std::string_view name, std::string_view value) {
  return value.empty() ? std::string()
                       : " " + std::string(name) + "=\"" + escape_markup(value) + "\"";
}

std::string class_of(const Column& column, std::string_view cell) {
  std::string out = !column.css.empty() ? column.css : column.align == Align::right ? "n" : "";
  if (!cell.empty()) (out += out.empty() ? "" : " ") += cell;
  return attribute("class", out);
}

std::string html_cell(const Column& column, const Cell& cell, bool heading, bool labeled) {
  // The title of a name is not translated; its column's label is.
  const bool is_name = cell.shown == Shown::as_it_is && !cell.html;
  const std::string tooltip = attribute("title", cell.title);
  std::string out = heading ? "<th scope=\"row\"" : "<td" + class_of(column, cell.css);
  if (labeled) out += attribute("data-label", column.title);
  if (!is_name) out += tooltip;
  if (cell.span > 1) out += attribute("colspan", std::to_string(cell.span));
  const std::string text = cell.html ? cell.html->str() : escape_markup(cell.text);
  out += ">" + (is_name ? "<span translate=\"no\"" + tooltip + ">" + text + "</span>" : text);
  return out + (heading ? "</th>" : "</td>");
}

std::string heading_of(const Column& column) {
  const std::string title =
      (column.shown == Shown::as_it_is ? as_name(column.title) : Html::text(column.title)).str();
  return column.link.empty() ? title : "<a" + attribute("href", column.link) + ">" + title + "</a>";
}

}  // namespace

Cell free_text(std::string_view text) {
  Cell cell(text);
  cell.shown = Shown::if_a_message;
  return cell;
}

Cell name(std::string_view text) {
  Cell cell(text);
  cell.shown = Shown::as_it_is;
  return cell;
}

std::string paint(bool color, std::string_view code, std::string_view text) {
  return color && !code.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::vector<std::string> text_lines(const Table& given, const TextStyle& style) {
  const std::size_t room = style.width - std::min(style.width, style.indent);
  std::optional<Table> fewer;
  if (std::ranges::any_of(given.columns, [](const Column& c) { return c.leave_out > 0; }))
    fewer = narrowed(given, room);
  const Table& table = fewer ? *fewer : given;
  const std::vector<std::size_t> widths = widths_of(table, room, Least::hard);
  const auto line_of = [&](const std::vector<Cell>& cells) {
    std::string line(style.indent, ' ');
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Column& column = table.columns[i];
      const std::string text = fit(column, one_line(cells[i]), widths[i], style.mark);
      const std::size_t used = columns_of(text);
      const std::string blanks(widths[i] > used ? widths[i] - used : 0, ' ');
      const std::string painted = paint(style.color, cells[i].color, text);
      line += std::string(i > 0 ? kGap : 0, ' ');
      line += column.align == Align::right ? blanks + painted : painted + blanks;
    }
    return line.substr(0, line.find_last_not_of(' ') + 1);
  };
  std::vector<Cell> headings;
  for (const Column& column : table.columns) headings.push_back(heading_cell(column));
  std::vector<std::string> lines{paint(style.color, style.heading, line_of(headings))};
  for (const Row& row : table.rows) lines.push_back(line_of(row.cells));
  return lines;
}

Html to_html(const Table& table, const HtmlStyle& style) {
  std::string out = "<table" + attribute("class", style.css) + "><thead><tr>";
  for (const Column& column : table.columns)
    out += "<th" + class_of(column, "") + attribute("aria-sort", column.sorted) + ">" +
           heading_of(column) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (const Row& row : table.rows) {
    out += "<tr" + attribute("class", row.css) + ">";
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      out += html_cell(table.columns[i], row.cells[i], style.cards && i == 0, style.cards && i > 0);
    out += "</tr>\n";
  }
  return Html(out + "</tbody></table>");
}

Html scrolling(const Html& wide) {
  return markup("<div class=\"scroll\">{}</div>", wide);
}

}  // namespace assay::page
