#include "report/summary_table.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/text.h"
#include "report/html_parts.h"
#include "report/present.h"

namespace assay::report {

namespace {

using judge::CaseResult;
using judge::RunResult;
using judge::Summary;
using judge::Validity;
using page::Align;
using page::Cell;
using page::Html;
using page::markup;

struct SummaryColumn {
  page::Column column;
  Cell (*cell)(const CaseResult& case_result, std::size_t number);
  bool (*wanted)(const CaseResult& case_result) = nullptr;  ///< by any case; null: always shown
};

Cell shown_as(std::string text, Html html) {
  Cell cell(std::move(html));
  cell.text = std::move(text);
  return cell;
}

Cell spread_cell(const CaseResult& case_result, std::size_t) {
  const Summary* summary = find_summary(case_result, case_result.headline);
  if (summary == nullptr) return "–";
  if (const auto spread = spread_of(case_result, *summary)) {
    static constexpr std::array<const char*, 3> kKinds{"95 % CI", "CV", "95 % CI, steps"};
    return markup("± {}<span class=\"sub\">{}</span>", show_percent(spread->ratio),
                  kKinds[static_cast<std::size_t>(spread->kind)]);
  }
  return markup("–<span class=\"sub\">{}</span>", counted(summary->n, "round"));
}

// `value` with the metric to read it with: "98 TFLOP/s, best 840 TFLOP/s", "9 s at 8118 samples/s".
std::string with_beside(const CaseResult& case_result, std::string value) {
  const Summary* summary = find_summary(case_result, case_result.beside);
  if (summary == nullptr) return value;
  const bool best = case_result.beside.find("best_") != std::string::npos;
  const std::string beside = median_text(case_result, *summary);
  return best ? fmt::format("{}, best {}", value, beside) : fmt::format("{} at {}", value, beside);
}

Cell result_cell(const CaseResult& case_result, std::size_t) {
  const Summary* summary = find_summary(case_result, case_result.headline);
  if (summary == nullptr) return "–";
  const Shown value = show(case_result, *summary);
  Cell cell = shown_as(
      with_beside(case_result, value.text()),
      markup(
          "<b>{}</b> <span class=\"unit\" translate=\"no\">{}</span><span class=\"sub\">{}</span>",
          value.number, value.unit, with_beside(case_result, metric_title(case_result.headline))));
  // A suite may choose any text as a unit.
  if (cell.text == value.text()) cell.shown = page::Shown::as_it_is;
  return cell;
}

const SummaryColumn kCase{
    {.title = "Case", .cut = page::Cut::middle, .soft_min = 18, .hard_min = 8},
    [](const CaseResult& case_result, std::size_t number) {
      Cell cell = page::name(case_result.name);
      cell.html = markup("<a href=\"#case-{}\">{}</a><span class=\"sub\">{}</span>", number,
                         page::as_name(case_result.name), case_subtitle(case_result));
      return cell;
    }};
const SummaryColumn kResult{{.title = "Result",
                             .align = Align::right,
                             .cut = page::Cut::end,
                             .soft_min = 16,
                             .hard_min = 16},
                            result_cell};
const SummaryColumn kSpread{{.title = "Spread", .align = Align::right}, spread_cell};
const SummaryColumn kRounds{
    {.title = "Rounds", .align = Align::right, .css = "rounds"},
    [](const CaseResult& case_result, std::size_t) {
      return shown_as(fmt::format("{}/{}", completed_rounds(case_result), case_result.repeats),
                      html::sparkbars(case_result));
    }};
const SummaryColumn kTime{{.title = "Time", .align = Align::right},
                          [](const CaseResult& case_result, std::size_t) -> Cell {
                            const auto seconds = e2e_seconds(case_result);
                            return seconds ? show(*seconds, "s").text() : "–";
                          }};
const SummaryColumn kEnergy{
    {.title = "Energy", .align = Align::right},
    [](const CaseResult& case_result, std::size_t) -> Cell {
      const Summary* summary = find_summary(case_result, "energy_j");
      return summary == nullptr ? "–" : median_text(case_result, *summary);
    },
    [](const CaseResult& case_result) { return find_summary(case_result, "energy_j") != nullptr; }};
const SummaryColumn kVerdict{
    {.title = "Verdict"}, [](const CaseResult& case_result, std::size_t) {
      const bool relaxed = case_result.validity == Validity::valid && case_result.relaxed();
      Cell cell =
          shown_as((case_result.skipped ? std::string(kSkippedWord)
                                        : std::string(judge::to_string(case_result.validity))) +
                       (relaxed ? " (relaxed)" : ""),
                   html::chip(case_result) +
                       (relaxed ? Html("<span class=\"sub\">relaxed rules</span>") : Html()));
      cell.color = case_result.skipped ? "2" : verdict_color(case_result.validity);
      return cell;
    }};

page::Table table_of(const RunResult& result, std::initializer_list<const SummaryColumn*> columns) {
  page::Table table;
  table.rows.resize(result.cases.size());
  for (const SummaryColumn* column : columns) {
    if (column->wanted != nullptr && std::ranges::none_of(result.cases, column->wanted)) continue;
    table.columns.push_back(column->column);
    for (std::size_t i = 0; i < result.cases.size(); ++i)
      table.rows[i].cells.push_back(column->cell(result.cases[i], i + 1));
  }
  return table;
}

}  // namespace

std::string_view verdict_color(Validity validity) {
  switch (validity) {
    case Validity::valid:
      return "1;32";
    case Validity::invalid:
      return "1;31";
    case Validity::incomplete:
      break;
  }
  return "1;33";
}

page::Table console_summary(const RunResult& result) {
  return table_of(result, {&kCase, &kRounds, &kResult, &kTime, &kVerdict});
}

page::Table page_summary(const RunResult& result) {
  return table_of(result, {&kCase, &kResult, &kSpread, &kRounds, &kTime, &kEnergy, &kVerdict});
}

}  // namespace assay::report
