#include "report/console.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "core/text.h"
#include "lang/language.h"
#include "page/table.h"
#include "page/text_width.h"
#include "report/findings.h"
#include "report/present.h"
#include "report/summary_table.h"
#include "report/sweep_view.h"

namespace assay::report {

using lang::tr;
using page::columns_of;
using page::cut_middle;
using page::cut_to;
using page::pad_left;
using page::pad_right;

namespace {

using judge::CaseResult;
using judge::Severity;

constexpr std::size_t kConsoleFindings = 12;  // per case; the HTML report has them all

// The few non-ASCII characters in Assay's own texts, and their replacements.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kAscii{{
    {"…", "..."},
    {"±", "+/-"},
    {"×", "x"},
    {"·", "-"},
    {"–", "-"},
    {"—", "-"},
    {"µ", "u"},
    {"→", "->"},
    {"≥", ">="},
    {"≤", "<="},
    {"“", "\""},
    {"”", "\""},
}};

std::string to_ascii(std::string text) {
  for (const auto& [from, to] : kAscii) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  }
  return text;
}

std::string_view severity_color(Severity severity) {
  switch (severity) {
    case Severity::invalid:
      return "31";
    case Severity::incomplete:
    case Severity::warning:
      return "33";
    case Severity::note:
      break;
  }
  return "36";
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

class Console {
 public:
  explicit Console(const ConsoleStyle& style)
      : style_(style), width_(std::max<std::size_t>(style.width, 60)) {}

  std::string render(const judge::RunResult& result) {
    line(paint("1", plain(result.suite.empty() ? "run" : result.suite)) + "  " +
         paint("2", plain(result.run_id)));
    line("");
    std::vector<FoldedFinding> found = folded_findings(result);
    all_cases_ = result.cases.size();
    failure(found);
    table(result);
    rules(result);
    scaling(result);
    sweeps(result);
    sections(found);
    line("");
    line(verdict_line(result));
    if (!style_.report.empty()) line(tr("Report: ") + plain(lang::tr_whole(style_.report)));
    return std::move(out_);
  }

 private:
  std::string plain(std::string_view text) const {
    std::string clean = printable(text);
    std::ranges::replace(clean, '\n', ' ');
    std::ranges::replace(clean, '\t', ' ');
    return style_.unicode ? clean : to_ascii(std::move(clean));
  }

  // Assay's own text in the reader's language.
  std::string said(std::string_view text) const { return plain(tr(text)); }

  page::Cell said_cell(page::Cell cell) const {
    cell.text = cell.shown == page::Shown::as_it_is ? plain(cell.text) : said(cell.text);
    cell.shown = page::Shown::as_it_is;
    return cell;
  }

  // A sign or number.
  std::string own(std::string text) const {
    return style_.unicode ? std::move(text) : to_ascii(std::move(text));
  }

  std::string paint(std::string_view code, std::string_view text) const {
    return page::paint(style_.color, code, text);
  }

  void line(std::string_view text) {
    while (text.ends_with(' ')) text.remove_suffix(1);
    out_.append(text);
    out_ += '\n';
  }

  void table(const judge::RunResult& result) {
    page::Table summary = console_summary(result);
    for (page::Column& column : summary.columns) column.title = upper(tr(column.title));
    for (page::Row& row : summary.rows)
      for (page::Cell& cell : row.cells) cell = said_cell(std::move(cell));
    for (const std::string& text : page::text_lines(summary, {.width = width_,
                                                             .mark = style_.unicode ? "…" : "...",
                                                             .heading = "2",
                                                             .color = style_.color}))
      line(text);
    if (result.cases.empty()) line(tr("no case was run"));
  }

  void paragraph(std::string_view text, const std::string& first, const std::string& rest) {
    const std::size_t indent = std::max(columns_of(first), columns_of(rest));
    std::size_t n = 0;
    for (const std::string& part : page::wrap(text, width_ > indent ? width_ - indent : 1))
      line((n++ == 0 ? first : rest) + part);
  }

  // Prints what the reader needs to know about the table's numbers and verdicts.
  void rules(const judge::RunResult& result) {
    const std::string legend = spread_legend(result);
    if (!legend.empty()) paragraph(said(legend), "", "");
    const auto changed = changed_rules(result);
    if (!changed.empty()) line("");
    for (const ChangedRule& rule : changed) {
      const std::string where = rule.cases.empty() ? std::string() : ": " + join(rule.cases, ", ");
      paragraph(said(rule.text) + plain(where),
                pad_right(tr(rule.relaxed ? "relaxed" : "stricter"), 10), std::string(10, ' '));
    }
  }

  void scaling(const judge::RunResult& result) {
    bool first = true;
    for (const CaseResult& case_result : result.cases) {
      const judge::Summary* summary = find_summary(case_result, "scaling_efficiency");
      // A sweep's points show theirs in its chart.
      if (summary == nullptr || case_result.sweep) continue;
      if (first) line("");
      first = false;
      paragraph(
          plain(case_result.name + ": ") + said(summary->note),
          pad_right(tr("scaling"), 8) + pad_left(own(show_percent(summary->median)), 7) + "  ",
          std::string(17, ' '));
    }
  }

  void sweeps(const judge::RunResult& result) {
    for (const SweepView& view : sweep_views(result)) {
      line("");
      line(cut_middle(paint("1", tr("sweep") + " " + plain(view.grid->sweep.name)) + "  " +
                          said(grid_text(view)),
                      width_, own("…")));
      constexpr std::size_t kMatrixColumns = 6;
      constexpr std::size_t kListedPoints = 40;
      const bool matrix = fits_matrix(view, kMatrixColumns);
      page::Table table = matrix ? sweep_matrix(view) : sweep_table(view, result);
      const std::size_t all = table.rows.size();
      // The summary above lists every point with its verdict.
      if (all > kListedPoints) table.rows.resize(kListedPoints);
      table.columns[0].cut = page::Cut::end;
      table.columns[0].soft_min = table.columns[0].hard_min = 8;
      for (page::Row& row : table.rows)
        for (page::Cell& cell : row.cells) cell = said_cell(std::move(cell));
      for (page::Column& column : table.columns)
        column.title =
            column.shown == page::Shown::as_it_is ? plain(column.title) : said(column.title);
      for (const std::string& text : page::text_lines(table, {.width = width_,
                                                             .indent = 2,
                                                             .mark = style_.unicode ? "…" : "...",
                                                             .heading = "2",
                                                             .color = style_.color}))
        line(cut_to(text, width_, own("…")));
      if (all > kListedPoints)
        line("  " + said(fmt::format("… and {} more above", all - kListedPoints)));
      if (matrix && view.best)
        paragraph(
            said(fmt::format("{} of each point, * the best", metric_title(view.grid->headline))),
            "  ", "  ");
      for (const std::string& text : sweep_sentences(view)) paragraph(said(text), "  ", "    ");
    }
  }

  // Prints the worst finding first; it is not repeated later.
  void failure(std::vector<FoldedFinding>& found) {
    if (found.empty() || found[0].first.finding.severity < Severity::incomplete) return;
    finding(found[0], found[0].of);
    line("");
    found.erase(found.begin());
  }

  // The run's findings, each case's, starting with the worst, and those that several cases share.
  void sections(std::span<const FoldedFinding> found) {
    std::vector<std::string> done;
    for (const FoldedFinding& one : found) {
      if (one.cases.size() > 1 || std::ranges::find(done, one.of) != done.end()) continue;
      done.push_back(one.of);
      section(one.of.empty() ? tr("the run as a whole") : one.of, found,
              [&](const FoldedFinding& other) {
                return other.cases.size() == 1 && other.of == one.of;
              });
    }
    section(tr("several cases"), found,
            [](const FoldedFinding& other) { return other.cases.size() > 1; });
  }

  template <class Wanted>
  void section(const std::string& title, std::span<const FoldedFinding> found, Wanted wanted) {
    const auto all = std::ranges::count_if(found, wanted);
    if (all == 0) return;
    line("");
    line(paint("1", cut_middle(plain(title), width_, own("…"))));
    std::size_t shown = 0;
    for (const FoldedFinding& one : found) {
      if (!wanted(one)) continue;
      if (shown++ == kConsoleFindings) {
        line("  " + said(fmt::format("… and {} more in the report", all - kConsoleFindings)));
        break;
      }
      finding(one, one.cases.size() > 1 && !one.same_reason ? one.of : "");
    }
  }

  std::string cases_text(const FoldedFinding& one) const {
    const std::string_view how = one.same_reason ? "in" : "alike in";
    if (one.cases.size() == all_cases_)
      return said(fmt::format("{} all {} cases", how, all_cases_));
    return said(fmt::format("{} {} cases: ", how, one.cases.size())) + plain(join(one.cases, ", "));
  }

  void finding(const FoldedFinding& one, const std::string& of) {
    const judge::Finding& finding = one.first.finding;
    const std::string severity = tr(to_text(finding.severity));
    std::string text = (of.empty() ? "" : plain(of + ": ")) + said(finding.reason);
    if (const std::string places = where_text(one); !places.empty())
      text += lang::reader_language() == lang::Language::chinese ? "（" + said(places) + "）"
                                                                 : " (" + said(places) + ")";
    if (!finding.rule.empty()) text += " [" + plain(finding.rule) + "]";
    const std::string indent(14, ' ');
    // Colors the label after wrapping: escape sequences have no width.
    const std::size_t at = out_.size();
    paragraph(text, "  " + pad_right(severity, 12), indent);
    if (style_.color)
      out_.replace(at + 2, severity.size(), paint(severity_color(finding.severity), severity));
    if (!finding.advice.empty())
      paragraph(said(finding.advice), indent + own("→ "), indent + (style_.unicode ? "  " : "   "));
    for (const std::string& quoted : finding.quote)
      line(paint("2", cut_to(indent + own("│ ") + plain(quoted), width_, own("…"))));
    if (one.cases.size() > 1) paragraph(cases_text(one), indent, indent);
  }

  std::string verdict_line(const judge::RunResult& result) const {
    std::array<std::size_t, 3> counts{};
    std::size_t skipped = 0;
    for (const CaseResult& case_result : result.cases)
      ++(case_result.skipped ? skipped : counts[static_cast<std::size_t>(case_result.validity)]);
    std::string text;
    const auto add = [&](std::size_t count, std::string_view word) {
      if (count > 0) text += tr(text.empty() ? "" : ", ") + tr(fmt::format("{} {}", count, word));
    };
    add(counts[0], "valid");
    add(counts[1], "invalid");
    add(counts[2], "incomplete");
    add(skipped, "skipped");
    const std::string verdict = tr(verdict_words(result));
    return paint(verdict_color(result.validity), verdict) + (text.empty() ? "" : "  " + text);
  }

  const ConsoleStyle& style_;
  std::size_t width_;
  std::size_t all_cases_ = 0;
  std::string out_;
};

}  // namespace

std::string render_console(const judge::RunResult& result, const ConsoleStyle& style) {
  return Console(style).render(result);
}

}  // namespace assay::report
