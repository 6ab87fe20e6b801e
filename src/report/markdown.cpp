#include "report/markdown.h"

#include <string_view>

#include <fmt/format.h>

#include "core/text.h"
#include "report/present.h"
#include "report/summary_table.h"

namespace assay::report {

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (std::string_view("\\`*_{}[]<>#|~&").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_table(const page::Table& table) {
  std::string out = "|";
  std::string rule = "\n|";
  for (const page::Column& column : table.columns) {
    out += " " + markdown_text(column.title) + " |";
    rule += column.align == page::Align::right ? "---:|" : "---|";
  }
  out += rule + "\n";
  for (const page::Row& row : table.rows) {
    out += "|";
    for (const page::Cell& cell : row.cells) out += " " + markdown_text(cell.text) + " |";
    out += "\n";
  }
  return out;
}

namespace {

std::string finding_lines(const std::vector<judge::Finding>& findings) {
  std::string out;
  for (const judge::Finding& finding : findings) {
    out += fmt::format("- **{}**: {}{}{}\n", to_text(finding.severity),
                       finding.where.empty() ? "" : markdown_text(finding.where) + ": ",
                       markdown_text(finding.reason),
                       finding.rule.empty() ? "" : " (" + markdown_text(finding.rule) + ")");
    if (!finding.advice.empty()) out += "  → " + markdown_text(finding.advice) + "\n";
  }
  return out;
}

}  // namespace

std::string render_markdown(const judge::RunResult& result) {
  std::string out =
      fmt::format("# {}: {}\n\nRun `{}`\n\n{}", markdown_text(result.suite), verdict_words(result),
                  result.run_id, markdown_table(console_summary(result)));
  if (const std::string legend = spread_legend(result); !legend.empty())
    out += "\n" + markdown_text(legend) + "\n";
  const auto changed = changed_rules(result);
  if (!changed.empty()) out += "\n## Rules\n\n";
  for (const ChangedRule& rule : changed)
    out += fmt::format("- **{}**: {}{}\n", rule.relaxed ? "relaxed" : "stricter",
                       markdown_text(rule.text),
                       rule.cases.empty() ? "" : ": " + markdown_text(join(rule.cases, ", ")));
  if (!result.findings.empty())
    out += "\n## The run as a whole\n\n" + finding_lines(result.findings);
  for (const judge::CaseResult& case_result : result.cases) {
    std::string found = finding_lines(case_result.findings);
    for (const judge::RoundResult& round : case_result.rounds)
      found += finding_lines(round.findings);
    if (!found.empty()) out += fmt::format("\n## {}\n\n{}", markdown_text(case_result.name), found);
  }
  return out;
}

}  // namespace assay::report
