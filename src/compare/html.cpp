#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "compare/compare_assets.h"
#include "compare/render.h"
#include "core/text.h"
#include "judge/case_identity.h"
#include "page/table.h"
#include "page/template.h"
#include "report/html_page.h"
#include "report/html_parts.h"
#include "report/html_rounds.h"
#include "report/present.h"
#include "report/report_assets.h"
#include "stats/descriptive.h"

namespace assay::compare {

namespace {

using page::Html;
using page::markup;
namespace html = report::html;

constexpr std::size_t kChartedCases = 100;  // more would make the page slow
constexpr std::size_t kChartedSides = 7;    // with the base, as many lines as a chart draws
constexpr std::size_t kPoints = 160;        // per line
constexpr std::size_t kShownRows = 200;     // per table of differences
constexpr std::size_t kShownText = 40;      // of a differing value
constexpr auto kRight = page::Align::right;

struct Look {
  std::string_view css;
  std::string_view glyph;
};

Look look_of(const MetricChange* metric) {
  if (metric == nullptr) return {"incomplete", "M4 8h8"};
  switch (metric->verdict) {
    case Verdict::better:
      return {"valid", "M8 13V3.5M4 7.5l4-4 4 4"};
    case Verdict::worse:
      return {"invalid", "M8 3v9.5M4 8.5l4 4 4-4"};
    case Verdict::same:
      return {"note", "M3.5 6h9M3.5 10h9"};
    case Verdict::unsure:
      break;
  }
  return {"incomplete", "M8 3.5v5.5M8 12.2v.1"};
}

// Nothing for a case that is not compared.
Html verdict_chip(const MetricChange* metric) {
  const Look look = look_of(metric);
  return page::fill(report::assets::kChip,
                    {{"class", look.css},
                     {"glyph", look.glyph},
                     {"verdict", metric == nullptr ? "not compared" : verdict_word(*metric)}});
}

std::string effect_text(const MetricChange& metric) {
  return metric.level.effect ? fmt::format("{:+.1f}", *metric.level.effect) : "–";
}

// The columns after the names of case, side and metric.
std::vector<page::Column> change_columns() {
  return {{"Verdict"},        {"Change", kRight},         {"Base", kRight},
          {"New", kRight},    {"95 % by rounds", kRight}, {"by steps", kRight},
          {"Effect", kRight}, {"Rounds", kRight}};
}

void add_change(page::Row& row, const MetricChange* metric) {
  row.cells.emplace_back(verdict_chip(metric));
  if (metric == nullptr) {
    for (int i = 0; i < 7; ++i) row.cells.emplace_back("–");
  } else {
    row.cells.emplace_back(markup("<b>{}</b>", percent_text(metric->level.change)));
    row.cells.emplace_back(median_text(metric->base, metric->info.unit));
    row.cells.emplace_back(median_text(metric->candidate, metric->info.unit));
    row.cells.emplace_back(interval_text(metric->level.interval));
    row.cells.emplace_back(interval_text(metric->steps));
    row.cells.emplace_back(effect_text(*metric));
    row.cells.emplace_back(fmt::format("{}, {}", metric->base.size(), metric->candidate.size()));
  }
}

const MetricChange* headline_of(const CaseChange& change) {
  return change.metrics.empty() ? nullptr : &change.metrics.front();
}

// The cases of all sides by name: the base's in its order, then the others.
struct CaseRow {
  std::string name;
  std::vector<const CaseChange*> sides;  // one per new side; null if it lacks the case
};

std::vector<CaseRow> case_rows(const Comparisons& comparison) {
  std::vector<CaseRow> rows;
  std::map<std::string, std::size_t> places;
  for (std::size_t side = 0; side < comparison.sides.size(); ++side)
    for (const CaseChange& change : comparison.sides[side].cases) {
      const auto [place, added] = places.try_emplace(change.name, rows.size());
      if (added) rows.push_back({change.name, {comparison.sides.size(), nullptr}});
      rows[place->second].sides[side] = &change;
    }
  return rows;
}

std::string label_of(const Comparisons& comparison, std::size_t side) {
  return comparison.sides.size() == 1 ? "new" : fmt::format("new {}", side + 1);
}

Html summary_table(const Comparisons& comparison, const std::vector<CaseRow>& rows) {
  const bool several = comparison.sides.size() > 1;
  page::Table table{{{"Case"}, {"Metric"}}};
  if (several) table.columns.insert(table.columns.begin() + 1, {.title = "Side", .css = "w"});
  for (page::Column& column : change_columns()) table.columns.push_back(std::move(column));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t side = 0; side < rows[i].sides.size(); ++side) {
      const CaseChange* change = rows[i].sides[side];
      if (change == nullptr) continue;
      const MetricChange* metric = headline_of(*change);
      page::Row row{{markup("<a href=\"#case-{}\">{}</a>", i + 1, page::as_name(rows[i].name))}};
      if (several) row.cells.emplace_back(label_of(comparison, side));
      row.cells.emplace_back(metric == nullptr ? "–" : report::metric_title(metric->info.name));
      add_change(row, metric);
      table.rows.push_back(std::move(row));
    }
  return page::scrolling(page::to_html(table, {.cards = true}));
}

// One row per difference, one column per side.
struct DifferenceRow {
  std::string base;
  std::vector<std::string> sides;
};

Html difference_table(const std::vector<const std::vector<Difference>*>& sides) {
  std::map<std::string, DifferenceRow> rows;
  for (std::size_t side = 0; side < sides.size(); ++side) {
    if (sides[side] == nullptr) continue;
    for (const Difference& difference : *sides[side]) {
      DifferenceRow& row = rows[difference.what];
      row.base = difference.base;
      row.sides.resize(sides.size());
      row.sides[side] = difference.candidate.empty() ? "not set" : difference.candidate;
    }
  }
  if (rows.empty()) return {};
  page::Table table{{{"What"}, {"Base"}}};
  for (std::size_t side = 0; side < sides.size(); ++side)
    table.columns.push_back({sides.size() == 1 ? "New" : "New " + std::to_string(side + 1)});
  for (const auto& [what, found] : rows) {
    if (table.rows.size() == kShownRows) break;
    page::Row row{{what, found.base.empty() ? "not set" : ellipsize(found.base, kShownText)}};
    for (const std::string& value : found.sides)
      row.cells.emplace_back(value.empty() ? "as the base" : ellipsize(value, kShownText));
    table.rows.push_back(std::move(row));
  }
  Html out = page::scrolling(page::to_html(table));
  if (rows.size() > kShownRows)
    out += html::remark(markup("And {} more; the JSON form has all.", rows.size() - kShownRows));
  return out;
}

Html run_difference_table(const Comparisons& comparison) {
  std::vector<const std::vector<Difference>*> sides;
  for (const Comparison& side : comparison.sides) sides.push_back(&side.differences);
  const Html table = difference_table(sides);
  return table.empty() ? markup("<p>{}</p>", nothing_differs(comparison)) : table;
}

// Notices about the case that a reader must see.
Html notices(const Comparisons& comparison, const CaseRow& row) {
  Html out;
  const auto add = [&](std::string_view css, std::string_view word, std::size_t side,
                       const std::string& text) {
    out += markup(
        "<div class=\"finding {}\"><p class=\"reason\"><span class=\"sev\">{}</span>{}{}</p></div>",
        css, word, comparison.sides.size() == 1 ? "" : label_of(comparison, side) + ": ", text);
  };
  for (std::size_t side = 0; side < row.sides.size(); ++side) {
    const CaseChange* change = row.sides[side];
    if (change == nullptr) continue;
    if (!change->refused.empty()) add("incomplete", "Not compared", side, change->refused);
    if (!change->warning.empty()) add("warning", "Warning", side, change->warning);
    for (const MetricChange& metric : change->metrics)
      if (metric.headline && !metric.note.empty()) add("note", "Unsure", side, metric.note);
  }
  return out.empty() ? out : markup("<div class=\"findings\">{}</div>\n", out);
}

// The round that represents a side: the one nearest to the metric's median.
const judge::RoundResult* typical_round(const Side& side, const std::string& case_name,
                                        const std::string& metric) {
  std::vector<std::pair<double, const judge::RoundResult*>> rounds;
  std::vector<double> values;
  for (const judge::RunResult& run : side.runs)
    for (const judge::CaseResult& result : run.cases) {
      if (judge::case_identity(result) != case_name) continue;
      for (const judge::RoundResult& round : result.rounds)
        if (const judge::Metric* found = report::find_metric(round, metric);
            found != nullptr && round.status == RoundStatus::completed) {
          rounds.emplace_back(found->value, &round);
          values.push_back(found->value);
        }
    }
  const auto middle = stats::median(values);
  if (!middle) return nullptr;
  return std::ranges::min_element(
             rounds, {}, [&](const auto& entry) { return std::abs(entry.first - *middle); })
      ->second;
}

Html curves(const Comparisons& comparison, const Side& base, std::span<const Side> others,
            const CaseRow& row) {
  std::vector<html::Curve> list;
  for (std::size_t side = 0; side < std::min(others.size(), kChartedSides); ++side) {
    const CaseChange* change = row.sides[side];
    const MetricChange* metric = change == nullptr ? nullptr : headline_of(*change);
    if (metric == nullptr) continue;
    const auto add = [&](const Side& of, const std::string& label) {
      if (const judge::RoundResult* round = typical_round(of, row.name, metric->info.name))
        list.push_back({fmt::format("{}, round {}", label, round->round), round});
    };
    if (list.empty()) add(base, "base");
    add(others[side], label_of(comparison, side));
  }
  return list.size() < 2 ? Html() : html::overlaid(list, kPoints);
}

Html metric_table(const Comparisons& comparison, const CaseRow& row) {
  const bool several = comparison.sides.size() > 1;
  page::Table table{{{"Metric"}}};
  if (several) table.columns.push_back({.title = "Side", .css = "w"});
  for (page::Column& column : change_columns()) table.columns.push_back(std::move(column));
  for (std::size_t side = 0; side < row.sides.size(); ++side) {
    if (row.sides[side] == nullptr) continue;
    for (const MetricChange& metric : row.sides[side]->metrics) {
      page::Row cells{
          {markup("{} <code>{}</code>", report::metric_title(metric.info.name), metric.info.name)}};
      if (several) cells.cells.emplace_back(label_of(comparison, side));
      add_change(cells, &metric);
      table.rows.push_back(std::move(cells));
    }
    for (const LeftOut& left : row.sides[side]->left_out) {
      page::Row cells{
          {markup("{} <code>{}</code>", report::metric_title(left.metric), left.metric)}};
      if (several) cells.cells.emplace_back(label_of(comparison, side));
      cells.cells.emplace_back("not compared: " + left.why);
      cells.cells.back().span = change_columns().size();
      table.rows.push_back(std::move(cells));
    }
  }
  if (table.rows.size() < 2) return {};
  return html::details(fmt::format("All {} metrics side by side", table.rows.size()),
                       page::scrolling(page::to_html(table)));
}

// The most important change among several sides: regressions come before improvements.
const MetricChange* worst_of(const CaseRow& row) {
  const MetricChange* out = nullptr;
  const auto rank = [](Verdict verdict) {
    return verdict == Verdict::worse    ? 0
           : verdict == Verdict::better ? 1
           : verdict == Verdict::unsure ? 2
                                        : 3;
  };
  for (const CaseChange* change : row.sides) {
    const MetricChange* metric = change == nullptr ? nullptr : headline_of(*change);
    if (metric != nullptr && (out == nullptr || rank(metric->verdict) < rank(out->verdict)))
      out = metric;
  }
  return out;
}

Html case_section(const Comparisons& comparison, const Side& base, std::span<const Side> others,
                  const CaseRow& row, std::size_t number) {
  std::vector<const std::vector<Difference>*> sides;
  for (const CaseChange* change : row.sides)
    sides.push_back(change == nullptr ? nullptr : &change->differences);
  const Html differing = difference_table(sides);
  const MetricChange* headline = worst_of(row);
  const Html content =
      notices(comparison, row) +
      (number <= kChartedCases ? curves(comparison, base, others, row) : Html()) +
      metric_table(comparison, row) +
      (differing.empty() ? Html() : html::details("What differed in its configuration", differing));
  return page::fill(
      report::assets::kCase,
      {{"id", fmt::format("case-{}", number)},
       {"heading", fmt::format("h-{}", number)},
       {"name", row.name},
       {"subtitle", headline == nullptr ? Html()
                                        : Html::text(report::metric_title(headline->info.name) +
                                                     " " + percent_text(headline->level.change))},
       {"chip", verdict_chip(headline)},
       {"content", content}});
}

Html side_fact(const std::string& name, const std::vector<std::string>& runs) {
  Html out = html::code(name);
  if (runs.size() > 1) out += markup(" ({} runs)", runs.size());
  return out;
}

Html masthead(const Comparisons& comparison) {
  const bool several = comparison.sides.size() > 1;
  Html facts = html::fact("Base", side_fact(comparison.base, comparison.base_runs));
  std::string sentence;
  for (std::size_t i = 0; i < comparison.sides.size(); ++i) {
    const Comparison& side = comparison.sides[i];
    facts +=
        html::fact(several ? fmt::format("New {}", i + 1) : "New", side_fact(side.name, side.runs));
    sentence += several
                    ? fmt::format("{}New {}: {}", i == 0 ? "" : " ", i + 1, verdict_sentence(side))
                    : verdict_sentence(side);
  }
  facts += html::fact("Tolerance", fmt::format("± {:.3g} %", comparison.options.tolerance * 100));
  return html::plain_masthead(
      {.brand = "Assay comparison",
       .title = several
                    ? fmt::format("{} sides against {}", comparison.sides.size(), comparison.base)
                    : "New against base",
       .sentence = sentence,
       .facts = facts});
}

Html bound_list(std::span<const Excess> over) {
  Html items;
  for (const Excess& excess : over) items += markup("<li>{}</li>", excess.text);
  return items.empty() ? items : markup("<ul>{}</ul>", items);
}

}  // namespace

Html html_sections(const Comparisons& comparison, const Side& base, std::span<const Side> others,
                   std::span<const Excess> over) {
  const std::vector<CaseRow> rows = case_rows(comparison);
  Html cases;
  for (std::size_t i = 0; i < rows.size(); ++i)
    cases += case_section(comparison, base, others, rows[i], i + 1);
  return page::fill(assets::kComparison, {{"bounds", bound_list(over)},
                                          {"differences", run_difference_table(comparison)},
                                          {"summary", summary_table(comparison, rows)},
                                          {"legend", legend(comparison)},
                                          {"cases", cases}});
}

std::string render_html(const Comparisons& comparison, const Side& base,
                        std::span<const Side> others, std::span<const Excess> over) {
  return html::page("Comparison with " + comparison.base,
                    masthead(comparison) + html_sections(comparison, base, others, over));
}

}  // namespace assay::compare
