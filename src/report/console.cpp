#include "report/console.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/text.h"
#include "report/columns.h"
#include "report/findings.h"
#include "report/present.h"

namespace assay::report {

namespace {

using judge::CaseResult;
using judge::Severity;
using judge::Validity;

constexpr std::size_t kConsoleFindings = 12;  // of one case; the HTML report has them all
constexpr std::size_t kColumns = 5;
using Row = std::array<std::string, kColumns>;

// The few characters outside ASCII that Assay's own words use, and what stands for them.
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

std::string_view verdict_color(Validity validity) {
  switch (validity) {
    case Validity::valid:
      return "32";
    case Validity::invalid:
      return "31";
    case Validity::incomplete:
      break;
  }
  return "33";
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

class Console {
 public:
  explicit Console(const ConsoleStyle& style)
      : style_(style), width_(std::max<std::size_t>(style.width, 60)) {}

  std::string render(const judge::RunResult& result) {
    line(paint("1", plain(result.suite.empty() ? "run" : result.suite)) + "  " +
         paint("2", plain(result.run_id)));
    line("");
    table(result);
    scaling(result);
    for (const CaseResult& one : result.cases) findings(one);
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
    return style_.color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }

  void line(std::string_view text) {
    while (text.ends_with(' ')) text.remove_suffix(1);
    out_.append(text);
    out_ += '\n';
  }

  Row row_of(const CaseResult& one) const {
    Row row{plain(one.name), fmt::format("{}/{}", completed_rounds(one), one.repeats), own("–"),
            own("–"), std::string(judge::to_string(one.validity))};
    if (const judge::Summary* summary = find_summary(one, one.headline)) {
      const Shown shown = show(summary->median, summary->info.unit);
      row[2] = shown.number;
      if (const auto spread = spread_of(*summary)) row[2] += " ± " + show_percent(spread->ratio);
      if (!shown.unit.empty()) row[2] += " " + shown.unit;
      row[2] = plain(row[2]);
    }
    if (const auto seconds = e2e_seconds(one)) row[3] = own(show(*seconds, "s").text());
    return row;
  }

  void table(const judge::RunResult& result) {
    std::vector<Row> rows{{"CASE", "ROUNDS", "RESULT", "TIME", "VERDICT"}};
    for (const CaseResult& one : result.cases) rows.push_back(row_of(one));
    std::array<std::size_t, kColumns> widths{};
    for (const Row& row : rows)
      for (std::size_t i = 0; i < kColumns; ++i)
        widths[i] = std::max(widths[i], columns_of(row[i]));
    // Names give way first, then long units.
    const auto total = [&] {
      std::size_t sum = 2 * (kColumns - 1);
      for (const std::size_t width : widths) sum += width;
      return sum;
    };
    const auto shrink = [&](std::size_t column, std::size_t least) {
      if (total() <= width_ || widths[column] <= least) return;
      widths[column] -= std::min(total() - width_, widths[column] - least);
    };
    shrink(0, 18);
    shrink(2, 16);
    shrink(0, 8);
    const std::string mark = own("…");
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const Row& row = rows[r];
      std::string text = pad_right(cut_middle(row[0], widths[0], mark), widths[0]) + "  " +
                         pad_left(row[1], widths[1]) + "  " +
                         pad_left(cut_to(row[2], widths[2], mark), widths[2]) + "  " +
                         pad_left(row[3], widths[3]) + "  ";
      if (r == 0) {
        line(paint("2", text + row[4]));
      } else {
        const Validity validity = result.cases[r - 1].validity;
        line(text + paint(std::string("1;") + std::string(verdict_color(validity)), row[4]));
      }
    }
    if (result.cases.empty()) line("no case was run");
  }

  void paragraph(std::string_view text, const std::string& first, const std::string& rest) {
    const std::size_t indent = std::max(columns_of(first), columns_of(rest));
    std::size_t n = 0;
    for (const std::string& part : wrap(text, width_ > indent ? width_ - indent : 1))
      line((n++ == 0 ? first : rest) + part);
  }

  void scaling(const judge::RunResult& result) {
    bool first = true;
    for (const CaseResult& one : result.cases) {
      const judge::Summary* summary = find_summary(one, "scaling_efficiency");
      if (summary == nullptr) continue;
      if (first) line("");
      first = false;
      paragraph(plain(fmt::format("{}: {}", one.name, summary->note)),
                "scaling " + pad_left(own(show_percent(summary->median)), 7) + "  ",
                std::string(17, ' '));
    }
  }

  void findings(const CaseResult& one) {
    const auto merged = merged_findings(one);
    if (merged.empty()) return;
    line("");
    line(paint("1", cut_middle(plain(one.name), width_, own("…"))));
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
      // The label is coloured after wrapping: escape sequences have no width.
      const std::size_t at = out_.size();
      paragraph(text, "  " + pad_right(severity, 12), indent);
      if (style_.color)
        out_.replace(at + 2, severity.size(), paint(severity_color(finding.severity), severity));
      if (!finding.advice.empty())
        paragraph(plain(finding.advice), indent + own("→ "),
                  indent + (style_.unicode ? "  " : "   "));
      for (const std::string& words : finding.quote)
        line(paint("2", cut_to(indent + own("│ ") + plain(words), width_, own("…"))));
    }
  }

  std::string verdict_line(const judge::RunResult& result) const {
    std::array<std::size_t, 3> counts{};
    for (const CaseResult& one : result.cases) ++counts[static_cast<std::size_t>(one.validity)];
    std::string text;
    const auto add = [&](std::size_t count, std::string_view word) {
      if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word);
    };
    add(counts[0], "valid");
    add(counts[1], "invalid");
    add(counts[2], "incomplete");
    const std::string verdict(judge::to_string(result.validity));
    return paint(std::string("1;") + std::string(verdict_color(result.validity)), verdict) +
           (text.empty() ? "" : "  " + text);
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
