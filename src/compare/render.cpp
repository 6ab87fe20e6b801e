#include "compare/render.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/text.h"
#include "page/table.h"
#include "report/markdown.h"
#include "report/present.h"

namespace assay::compare {

namespace {

constexpr std::size_t kShownDifferences = 16;

std::string percent(double ratio) {
  return fmt::format("{:+.2f} %", ratio * 100);
}

std::string interval_text(const MetricChange& change) {
  const auto& interval = change.level.interval;
  return interval ? fmt::format("{:+.2f} … {:+.2f} %", interval->low * 100, interval->high * 100)
                  : "–";
}

std::string middle(const std::vector<double>& values, const std::string& unit) {
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  const std::size_t n = sorted.size();
  return report::show(n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2, unit)
      .text();
}

std::string color_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::better:
      return "1;32";
    case Verdict::worse:
      return "1;31";
    case Verdict::same:
      return "32";
    case Verdict::unsure:
      break;
  }
  return "33";
}

page::Table table_of(const Comparison& comparison) {
  using page::Align;
  page::Table table{{{.title = "CASE", .cut = page::Cut::middle, .soft_min = 24, .hard_min = 20},
                     {.title = "METRIC", .cut = page::Cut::end, .soft_min = 20, .hard_min = 14},
                     {.title = "BASE", .align = Align::right},
                     {.title = "NEW", .align = Align::right},
                     {.title = "CHANGE", .align = Align::right},
                     {.title = "95 % INTERVAL", .align = Align::right},
                     {.title = "ROUNDS", .align = Align::right},
                     {.title = "VERDICT"}}};
  for (const CaseChange& change : comparison.cases) {
    if (!change.refused.empty()) {
      page::Cell verdict("not compared");
      verdict.color = "33";
      table.rows.push_back({{change.name, "–", "–", "–", "–", "–", "–", verdict}});
    }
    for (const MetricChange& metric : change.metrics) {
      page::Cell verdict(verdict_word(metric));
      verdict.color = color_of(metric.verdict);
      table.rows.push_back(
          {{metric.headline ? change.name : "", report::metric_title(metric.info.name),
            middle(metric.base, metric.info.unit), middle(metric.candidate, metric.info.unit),
            percent(metric.level.change), interval_text(metric),
            fmt::format("{}, {}", metric.base.size(), metric.candidate.size()), verdict}});
    }
  }
  return table;
}

std::string side(const std::string& text) {
  return text.empty() ? "–" : ellipsize(printable(text), 60);
}

std::string difference_line(const Difference& difference) {
  return fmt::format("{}: {} → {}", printable(difference.what), side(difference.base),
                     side(difference.candidate));
}

// The first of them, and how many there are besides.
std::vector<std::string> shortened(std::vector<std::string> lines) {
  if (lines.size() <= kShownDifferences) return lines;
  const std::size_t more = lines.size() - kShownDifferences;
  lines.resize(kShownDifferences);
  lines.push_back(fmt::format("and {} more (--format json has all)", more));
  return lines;
}

std::vector<std::string> difference_lines(const std::vector<Difference>& differences) {
  std::vector<std::string> out;
  for (const Difference& difference : differences) out.push_back(difference_line(difference));
  return shortened(std::move(out));
}

// A line for every difference, with the cases that have it: a changed suite differs in all alike.
std::vector<std::string> folded_differences(const std::vector<CaseChange>& cases) {
  std::map<std::string, std::vector<std::string>> by_line;
  std::vector<std::string> order;
  for (const CaseChange& change : cases)
    for (const Difference& difference : change.differences) {
      const std::string line = difference_line(difference);
      if (by_line[line].empty()) order.push_back(line);
      by_line[line].push_back(change.name);
    }
  std::vector<std::string> out;
  for (const std::string& line : order) {
    const std::vector<std::string>& names = by_line[line];
    const bool all = names.size() == cases.size() && names.size() > 1;
    out.push_back((all ? "all cases" : ellipsize(join(names, ", "), 80)) + ": " + line);
  }
  return out;
}

// What a reader must know beside the table, a line each.
std::vector<std::string> remarks(const Comparison& comparison) {
  std::vector<std::string> out;
  for (const CaseChange& change : comparison.cases) {
    if (!change.refused.empty()) out.push_back(change.name + ": not compared: " + change.refused);
    if (!change.warning.empty()) out.push_back(change.name + ": " + change.warning);
    for (const MetricChange& metric : change.metrics)
      if (metric.headline && !metric.note.empty())
        out.push_back(change.name + ": " + metric.info.name + ": " + metric.note);
  }
  for (std::string& line : shortened(folded_differences(comparison.cases)))
    out.push_back(std::move(line));
  return out;
}

std::string legend(const Comparison& comparison) {
  return fmt::format(
      "SAME: the whole interval lies within ±{:.3g} %. FASTER, SLOWER, BETTER, WORSE: there is a "
      "change; over all headlines together, a false one is less probable than {:.3g} %.",
      comparison.options.tolerance * 100, comparison.options.level * 100);
}

Json differences_json(const std::vector<Difference>& differences) {
  Json out = Json::array();
  for (const Difference& difference : differences)
    out.push_back(
        {{"what", difference.what}, {"base", difference.base}, {"new", difference.candidate}});
  return out;
}

Json metric_json(const MetricChange& metric) {
  Json out = {{"name", metric.info.name},
              {"unit", metric.info.unit},
              {"better", to_text(metric.info.better)},
              {"headline", metric.headline},
              {"base", metric.base},
              {"new", metric.candidate},
              {"change", metric.level.change},
              {"p_value", metric.level.p_value},
              {"adjusted_p", metric.adjusted_p},
              {"superiority", metric.level.superiority},
              {"spread", metric.level.spread},
              {"verdict", verdict_word(metric)}};
  if (metric.level.interval)
    out["interval95"] = {metric.level.interval->low, metric.level.interval->high};
  if (metric.level.rank_p) out["rank_p"] = *metric.level.rank_p;
  if (!metric.note.empty()) out["note"] = metric.note;
  return out;
}

}  // namespace

std::string render_text(const Comparison& comparison, const report::ConsoleStyle& style) {
  std::string out = fmt::format("Base  {}\nNew   {}\n\n", join(comparison.base_runs, ", "),
                                join(comparison.candidate_runs, ", "));
  const std::vector<std::string> differing = difference_lines(comparison.differences);
  out += differing.empty() ? "Machines, programs and suites are the same.\n" : "What differed:\n";
  for (const std::string& line : differing) out += "  " + line + "\n";
  out += "\n";
  const page::TextStyle text{.width = style.width, .heading = "1", .color = style.color};
  for (const std::string& line : page::text_lines(table_of(comparison), text)) out += line + "\n";
  const std::vector<std::string> beside = remarks(comparison);
  if (!beside.empty()) out += "\n";
  for (const std::string& line : beside) out += "  " + line + "\n";
  return out + "\n" + legend(comparison) + "\n";
}

std::string render_markdown(const Comparison& comparison) {
  std::string out = fmt::format("Base `{}`, new `{}`\n\n{}\n", join(comparison.base_runs, "`, `"),
                                join(comparison.candidate_runs, "`, `"),
                                report::markdown_table(table_of(comparison)));
  std::vector<std::string> lines = difference_lines(comparison.differences);
  for (std::string& line : lines) line = "differs: " + line;
  const std::vector<std::string> beside = remarks(comparison);
  lines.insert(lines.end(), beside.begin(), beside.end());
  for (const std::string& line : lines) out += "- " + report::markdown_text(line) + "\n";
  return out + "\n" + report::markdown_text(legend(comparison)) + "\n";
}

Json to_json(const Comparison& comparison) {
  Json cases = Json::array();
  for (const CaseChange& change : comparison.cases) {
    Json metrics = Json::array();
    for (const MetricChange& metric : change.metrics) metrics.push_back(metric_json(metric));
    Json item = {{"name", change.name},
                 {"differences", differences_json(change.differences)},
                 {"metrics", std::move(metrics)}};
    if (!change.refused.empty()) item["refused"] = change.refused;
    if (!change.warning.empty()) item["warning"] = change.warning;
    cases.push_back(std::move(item));
  }
  return {{"schema_version", 1},
          {"base", comparison.base_runs},
          {"new", comparison.candidate_runs},
          {"tolerance", comparison.options.tolerance},
          {"level", comparison.options.level},
          {"differences", differences_json(comparison.differences)},
          {"cases", std::move(cases)}};
}

}  // namespace assay::compare
