#include "report/console.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/text.h"
#include "page/table.h"
#include "page/text_width.h"
#include "report/findings.h"
#include "report/present.h"
#include "report/summary_table.h"

namespace assay::report {

using page::columns_of;
using page::cut_middle;
using page::cut_to;
using page::pad_left;
using page::pad_right;

namespace {

using judge::CaseResult;
using judge::Severity;

constexpr std::size_t kConsoleFindings = 12;  // of one case; the HTML report has them all

// The few characters outside ASCII in Assay's own texts, and their replacements.
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

char to_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

class Console {
 public:
  explicit Console(const ConsoleStyle& style)
      : style_(style), width_(std::max<std::size_t>(style.width, 60)) {}

  std::string render(const judge::RunResult& result) {
    line(paint("1", plain(result.suite.empty() ? "run" : result.suite)) + "  " +
         paint("2", plain(result.run_id)));
    line("");
    table(result);
    rules(result);
    scaling(result);
    findings("the run as a whole", merged_findings(result));
    for (const CaseResult& case_result : result.cases)
      findings(case_result.name, merged_findings(case_result));
    line("");
    line(verdict_line(result));
    if (!style_.report.empty()) line("Report: " + plain(style_.report));
    return std::move(out_);
  }

 private:
  std::string plain(std::string_view text) const {
    std::string clean = printable(text);
    std::ranges::replace(clean, '\n', ' ');
    std::ranges::replace(clean, '\t', ' ');
    return style_.unicode ? clean : to_ascii(std::move(clean));
  }

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
    for (page::Column& column : summary.columns)
      std::ranges::transform(column.title, column.title.begin(), to_upper);
    for (page::Row& row : summary.rows)
      for (page::Cell& cell : row.cells) cell.text = plain(cell.text);
    for (const std::string& text : page::text_lines(summary, {.width = width_,
                                                             .mark = style_.unicode ? "…" : "...",
                                                             .heading = "2",
                                                             .color = style_.color}))
      line(text);
    if (result.cases.empty()) line("no case was run");
  }

  void paragraph(std::string_view text, const std::string& first, const std::string& rest) {
    const std::size_t indent = std::max(columns_of(first), columns_of(rest));
    std::size_t n = 0;
    for (const std::string& part : page::wrap(text, width_ > indent ? width_ - indent : 1))
      line((n++ == 0 ? first : rest) + part);
  }

  // What the numbers and verdicts of the table are to be read with.
  void rules(const judge::RunResult& result) {
    const std::string legend = spread_legend(result);
    if (!legend.empty()) paragraph(own(legend), "", "");
    const auto changed = changed_rules(result);
    if (!changed.empty()) line("");
    for (const ChangedRule& rule : changed) {
      const std::string where = rule.cases.empty() ? std::string() : ": " + join(rule.cases, ", ");
      paragraph(plain(rule.text + where), rule.relaxed ? "relaxed   " : "stricter  ",
                std::string(10, ' '));
    }
  }

  void scaling(const judge::RunResult& result) {
    bool first = true;
    for (const CaseResult& case_result : result.cases) {
      const judge::Summary* summary = find_summary(case_result, "scaling_efficiency");
      if (summary == nullptr) continue;
      if (first) line("");
      first = false;
      paragraph(plain(fmt::format("{}: {}", case_result.name, summary->note)),
                "scaling " + pad_left(own(show_percent(summary->median)), 7) + "  ",
                std::string(17, ' '));
    }
  }

  void findings(const std::string& title, const std::vector<MergedFinding>& merged) {
    if (merged.empty()) return;
    line("");
    line(paint("1", cut_middle(plain(title), width_, own("…"))));
    for (std::size_t i = 0; i < merged.size(); ++i) {
      if (i == kConsoleFindings) {
        line(own(fmt::format("  … and {} more in the report", merged.size() - i)));
        break;
      }
      const judge::Finding& finding = merged[i].finding;
      const std::string severity(to_text(finding.severity));
      std::string text = plain(finding.reason);
      const std::string places = plain(places_text(merged[i].places));
      if (!places.empty()) text += " (" + places + ")";
      const std::string indent(14, ' ');
      // The label is colored after wrapping: escape sequences have no width.
      const std::size_t at = out_.size();
      paragraph(text, "  " + pad_right(severity, 12), indent);
      if (style_.color)
        out_.replace(at + 2, severity.size(), paint(severity_color(finding.severity), severity));
      if (!finding.advice.empty())
        paragraph(plain(finding.advice), indent + own("→ "),
                  indent + (style_.unicode ? "  " : "   "));
      for (const std::string& quoted : finding.quote)
        line(paint("2", cut_to(indent + own("│ ") + plain(quoted), width_, own("…"))));
    }
  }

  std::string verdict_line(const judge::RunResult& result) const {
    std::array<std::size_t, 3> counts{};
    for (const CaseResult& case_result : result.cases)
      ++counts[static_cast<std::size_t>(case_result.validity)];
    std::string text;
    const auto add = [&](std::size_t count, std::string_view word) {
      if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word);
    };
    add(counts[0], "valid");
    add(counts[1], "invalid");
    add(counts[2], "incomplete");
    const std::string verdict = verdict_words(result);
    return paint(verdict_color(result.validity), verdict) + (text.empty() ? "" : "  " + text);
  }

  const ConsoleStyle& style_;
  std::size_t width_;
  std::string out_;
};

}  // namespace

std::string render_console(const judge::RunResult& result, const ConsoleStyle& style) {
  return Console(style).render(result);
}

}  // namespace assay::report
