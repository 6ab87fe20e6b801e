#include "report/html.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/run_layout.h"
#include "core/text.h"
#include "report/assets.h"
#include "report/chart.h"
#include "report/html_parts.h"
#include "report/markup.h"
#include "report/mllog.h"
#include "report/present.h"
#include "report/report.h"

namespace assay::report {

namespace {

using judge::CaseResult;
using judge::RunResult;
using judge::Validity;

// Points that all charts together may draw: it keeps the file at a size that opens at once.
constexpr std::size_t kPointBudget = 100'000;

std::size_t points_per_line(const RunResult& result) {
  std::size_t lines = 0;
  for (const CaseResult& one : result.cases) {
    for (const judge::RoundResult& round : one.rounds) {
      std::vector<std::pair<std::string_view, std::size_t>> charts;
      for (const judge::Series& series : round.series) {
        const auto found = std::ranges::find(charts, series.name,
                                             &std::pair<std::string_view, std::size_t>::first);
        if (found == charts.end())
          charts.emplace_back(series.name, 1);
        else
          ++found->second;
      }
      for (const auto& chart : charts) lines += lines_of(chart.second);
    }
  }
  return std::clamp<std::size_t>(lines == 0 ? 240 : kPointBudget / lines, 24, 240);
}

std::string verdict_sentence(const RunResult& result) {
  std::array<std::size_t, 3> counts{};
  for (const CaseResult& one : result.cases) ++counts[static_cast<std::size_t>(one.validity)];
  const std::size_t all = result.cases.size();
  if (all == 0) return "No case was run.";
  if (counts[0] == all)
    return all == 1 ? "The case is valid." : fmt::format("All {} cases are valid.", all);
  std::string text;
  const auto add = [&](std::size_t count, std::string_view word) {
    if (count == 0) return;
    text +=
        fmt::format("{}{} {} {}", text.empty() ? "" : ", ", count, count == 1 ? "is" : "are", word);
  };
  add(counts[1], "invalid");
  add(counts[2], "incomplete");
  add(counts[0], "valid");
  return fmt::format("Of {} case{}, {}.", all, all == 1 ? "" : "s", text);
}

std::string header(const RunResult& result) {
  std::string started;
  std::string ended;
  std::size_t rounds = 0;
  for (const CaseResult& one : result.cases) {
    rounds += one.rounds.size();
    for (const judge::RoundResult& round : one.rounds) {
      if (!round.started.empty() && (started.empty() || round.started < started))
        started = round.started;
      ended = std::max(ended, round.ended);
    }
  }
  std::string took;
  if (const auto from = parse_iso_ms(started), to = parse_iso_ms(ended); from && to && *to >= *from)
    took = escape_markup(show(static_cast<double>(*to - *from) / 1000, "s").text());
  std::string facts = html::fact("Run", "<code>" + escape_markup(result.run_id) + "</code>");
  facts += html::fact("Started", started.empty() ? "" : html::time_element(started));
  facts += html::fact("Took", took);
  facts += html::fact(
      "Measured", fmt::format("{} case{}, {} round{}", result.cases.size(),
                              result.cases.size() == 1 ? "" : "s", rounds, rounds == 1 ? "" : "s"));
  facts += html::fact("Machine", html::machine_line(result.system));
  facts += html::fact("Assay", html::version_of(result.provenance));
  return html::masthead(result.validity, result.run_id, "Assay report",
                        result.suite.empty() ? "run" : result.suite, verdict_sentence(result),
                        facts);
}

// What every run has beside report.html.
std::string other_files() {
  std::vector<std::string> names;
  for (const layout::RunFile& file : layout::run_files())
    for (const Format& format : formats())
      if (format.always && format.files.front() == file.name && file.name != layout::kReportHtml &&
          file.place == layout::FilePlace::run)
        names.push_back(
            fmt::format("<code>{}</code>{}", file.name,
                        file.name == layout::kResult ? " (everything, with a schema)" : ""));
  return join(names, ", ");
}

std::string summary_row(const CaseResult& one, std::size_t number, bool energy) {
  const auto shown = [](const judge::Summary* summary) {
    return summary == nullptr ? std::string("–")
                              : escape_markup(show(summary->median, summary->info.unit).text());
  };
  std::string headline = "–";
  std::string spread = "–";
  if (const judge::Summary* summary = find_summary(one, one.headline)) {
    const Shown value = show(summary->median, summary->info.unit);
    headline = fmt::format("<b>{}</b> <span class=\"unit\">{}</span><span class=\"sub\">{}</span>",
                           escape_markup(value.number), escape_markup(value.unit),
                           escape_markup(metric_title(one.headline)));
    if (const auto found = spread_of(*summary))
      spread = fmt::format("± {}<span class=\"sub\">{}</span>", show_percent(found->ratio),
                           found->confidence ? "95 % CI" : "CV");
    else
      spread = fmt::format("–<span class=\"sub\">{} round{}</span>", summary->n,
                           summary->n == 1 ? "" : "s");
  }
  const auto e2e = e2e_seconds(one);
  std::string out = fmt::format(
      "<tr><th scope=\"row\"><a href=\"#case-{}\">{}</a><span class=\"sub\">{}</span></th><td "
      "class=\"n\" data-label=\"Result\">{}</td><td class=\"n\" data-label=\"Spread\">{}</td><td "
      "class=\"rounds\" data-label=\"Rounds\">{}</td><td class=\"n\" data-label=\"Time\">{}</td>",
      number, escape_markup(one.name), escape_markup(case_subtitle(one)), headline, spread,
      html::sparkbars(one), e2e ? escape_markup(show(*e2e, "s").text()) : "–");
  if (energy)
    out += fmt::format("<td class=\"n\" data-label=\"Energy\">{}</td>",
                       shown(find_summary(one, "energy_j")));
  return out + fmt::format("<td data-label=\"Verdict\">{}</td></tr>\n", html::chip(one.validity));
}

std::string summary_table(const RunResult& result) {
  if (result.cases.empty()) return {};
  const bool energy = std::ranges::any_of(
      result.cases, [](const CaseResult& one) { return find_summary(one, "energy_j") != nullptr; });
  std::string out = fmt::format(
      "<section class=\"summary\" aria-labelledby=\"h-summary\"><h2 id=\"h-summary\">Summary</h2>"
      "<div class=\"scroll\"><table><thead><tr><th>Case</th><th class=\"n\">Result</th><th "
      "class=\"n\">Spread</th><th class=\"rounds\">Rounds</th><th "
      "class=\"n\">Time</th>{}<th>Verdict</th></tr>"
      "</thead><tbody>\n",
      energy ? "<th class=\"n\">Energy</th>" : "");
  for (std::size_t i = 0; i < result.cases.size(); ++i)
    out += summary_row(result.cases[i], i + 1, energy);
  return out + "</tbody></table></div></section>\n";
}

}  // namespace

std::string render_html(const RunResult& result) {
  std::string body = header(result) + summary_table(result);
  const std::size_t points = points_per_line(result);
  for (std::size_t i = 0; i < result.cases.size(); ++i)
    body += html::case_section(result.cases[i], i + 1, points);
  body += fmt::format(
      "<section class=\"evidence\" aria-labelledby=\"h-system\"><h2 "
      "id=\"h-system\">Environment</h2>{}"
      "</section>\n<section class=\"evidence\" aria-labelledby=\"h-provenance\"><h2 "
      "id=\"h-provenance\">Provenance</h2>{}</section>\n",
      html::json_tree(result.system), html::json_tree(result.provenance));
  body += "<footer><p>Beside this file: " + other_files() +
          ". <code>assay report</code> computes all of them again from the evidence in the run "
          "directory.</p></footer>\n";
  return html::page(fmt::format("{}: {}", result.suite.empty() ? result.run_id : result.suite,
                                judge::to_string(result.validity)),
                    assets::style(), body);
}

}  // namespace assay::report
