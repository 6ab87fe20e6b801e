#include "tester/comparison_page.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compare/render.h"
#include "core/text.h"
#include "page/table.h"
#include "page/template.h"
#include "report/html_page.h"
#include "report/present.h"
#include "tester/page_parts.h"
#include "tester/tester_assets.h"

namespace assay::tester {

namespace {

using page::Align;
using page::fill;
using page::Html;
using page::markup;

Html difference_table(const std::vector<compare::Difference>& differences) {
  constexpr std::size_t kMostShown = 200;
  page::Table table{{{"What"}, {"A"}, {"B"}}};
  for (const compare::Difference& one : differences) {
    if (table.rows.size() == kMostShown) {
      table.rows.push_back({{fmt::format("and {} more", differences.size() - kMostShown)}});
      break;
    }
    const auto side = [](const std::string& text) {
      return text.empty() ? std::string("–") : ellipsize(text, 200);
    };
    table.rows.push_back({{side(one.what), side(one.base), side(one.candidate)}});
  }
  return page::scrolling(tests_table(table));
}

std::string percent(double ratio) {
  return fmt::format("{:+.2f} %", ratio * 100);
}

std::string_view tone_of(compare::Verdict verdict) {
  switch (verdict) {
    case compare::Verdict::better:
      return "accepted";
    case compare::Verdict::worse:
      return "refused";
    case compare::Verdict::same:
    case compare::Verdict::unsure:
      break;
  }
  return "";
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n == 0 ? 0 : n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

page::Table changes_of(const compare::Comparison& comparison) {
  page::Table table{{{"Case"},
                     {"A", Align::right},
                     {"B", Align::right},
                     {"Change", Align::right},
                     {"95 % interval", Align::right},
                     {"Verdict"}}};
  for (const compare::CaseChange& change : comparison.cases) {
    if (!change.refused.empty()) {
      table.rows.push_back(
          {{change.name, "–", "–", "–", "–", markup("<span class=\"state\">not compared</span>")}});
      continue;
    }
    for (const compare::MetricChange& metric : change.metrics) {
      const auto& interval = metric.level.interval;
      table.rows.push_back(
          {{markup("{}<span class=\"sub\">{}, {} and {} rounds</span>", change.name,
                   report::metric_title(metric.info.name), metric.base.size(),
                   metric.candidate.size()),
            report::show(median_of(metric.base), metric.info.unit).text(),
            report::show(median_of(metric.candidate), metric.info.unit).text(),
            percent(metric.level.change),
            interval ? percent(interval->low) + " … " + percent(interval->high) : "–",
            markup("<span class=\"state {}\">{}</span>", tone_of(metric.verdict),
                   compare::verdict_word(metric))}});
    }
  }
  return table;
}

Html remarks_of(const compare::Comparison& comparison) {
  Html out;
  const auto add = [&](const std::string& name, const std::string& text) {
    if (!text.empty()) out += markup("<li>{}: {}</li>", name, text);
  };
  for (const compare::CaseChange& change : comparison.cases) {
    add(change.name, change.refused.empty() ? "" : "not compared: " + change.refused);
    add(change.name, change.warning);
    for (const compare::MetricChange& metric : change.metrics) add(change.name, metric.note);
  }
  return out;
}

std::string named(const TestRecord& test) {
  return test.name.empty() ? test.run_id : test.name;
}

}  // namespace

Json comparison_json(const TestRecord& base, const TestRecord& candidate,
                     const compare::Comparison& comparison) {
  Json out = compare::to_json(comparison);
  out["tests"] = {{"base", base.id}, {"new", candidate.id}};
  return out;
}

serve::HttpResponse comparison_page(const TestRecord& base, const TestRecord& candidate,
                                    const compare::Comparison& comparison) {
  std::vector<compare::Difference> differences = comparison.differences;
  for (const compare::CaseChange& change : comparison.cases)
    for (compare::Difference one : change.differences) {
      one.what = change.name + ": " + one.what;
      differences.push_back(std::move(one));
    }
  using report::html::fact;
  const auto side = [](const TestRecord& test) {
    return markup("{}, {}, {}", named(test), test_link(test.id), test.token);
  };
  return html_response(
      "Comparison",
      fill(assets::kComparison,
           {{"masthead", report::html::plain_masthead(
                             top("Two runs compared", "B against A, by the rounds of both.",
                                 fact("A", side(base)) + fact("B", side(candidate))))},
            {"navigation", navigation("")},
            {"changes", page::scrolling(tests_table(changes_of(comparison)))},
            {"remarks", remarks_of(comparison)},
            {"legend",
             fmt::format("SAME: the whole interval lies within ±{:.3g} %. Over all headlines "
                         "together, a false alarm is less probable than {:.3g} %.",
                         comparison.options.tolerance * 100, comparison.options.level * 100)},
            {"base", base.id},
            {"new", candidate.id},
            {"differences", differences.empty() ? Html() : difference_table(differences)},
            {"same", differences.empty()}}));
}

}  // namespace assay::tester
