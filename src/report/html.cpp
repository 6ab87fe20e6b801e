#include "report/html.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/run_layout.h"
#include "core/text.h"
#include "page/template.h"
#include "report/chart.h"
#include "report/html_case.h"
#include "report/html_devices.h"
#include "report/html_hooks.h"
#include "report/html_page.h"
#include "report/html_parts.h"
#include "report/html_sweep.h"
#include "report/html_system.h"
#include "report/mllog.h"
#include "report/present.h"
#include "report/report.h"
#include "report/report_assets.h"
#include "report/summary_table.h"

namespace assay::report {

using page::Html;

namespace {

using judge::CaseResult;
using judge::RunResult;

// The points of all charts together; the limit keeps the file small enough to open quickly.
constexpr std::size_t kPointBudget = 100'000;

std::size_t points_per_line(const RunResult& result) {
  std::size_t lines = 0;
  for (const CaseResult& case_result : result.cases) {
    for (const judge::RoundResult& round : case_result.rounds) {
      std::vector<std::pair<std::string_view, std::size_t>> charts;
      for (const judge::Series& series : round.series) {
        const auto found = std::ranges::find(charts, series.name,
                                             &std::pair<std::string_view, std::size_t>::first);
        if (found == charts.end())
          charts.emplace_back(series.name, 1);
        else
          ++found->second;
      }
      // One line per series, and one in the charts of all rounds.
      for (const auto& chart : charts) lines += lines_of(chart.second) + 1;
    }
  }
  return std::clamp<std::size_t>(lines == 0 ? 240 : kPointBudget / lines, 24, 240);
}

std::string verdict_sentence(const RunResult& result) {
  std::array<std::size_t, 3> counts{};
  std::size_t skipped = 0;
  for (const CaseResult& case_result : result.cases)
    ++(case_result.skipped ? skipped : counts[static_cast<std::size_t>(case_result.validity)]);
  const std::size_t all = result.cases.size();
  if (all == 0) return "No case was run.";
  if (counts[0] == all) {
    const bool relaxed = std::ranges::any_of(result.cases, &CaseResult::relaxed);
    const char* how = relaxed ? " under relaxed rules" : "";
    return all == 1 ? fmt::format("The case is valid{}.", how)
                    : fmt::format("All {} cases are valid{}.", all, how);
  }
  std::string text;
  const auto add = [&](std::size_t count, const char* one, const char* many) {
    if (count == 0) return;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + (count == 1 ? one : many);
  };
  add(counts[1], " is invalid", " are invalid");
  add(counts[2], " is incomplete", " are incomplete");
  add(counts[0], " is valid", " are valid");
  add(skipped, " is skipped", " are skipped");
  return fmt::format("Of {}, {}.", counted(all, "case"), text);
}

// The run can be worse than all its cases, because of its seal or journal.
std::string run_sentence(const RunResult& result) {
  const auto same = [&](const CaseResult& one) { return one.validity == result.validity; };
  if (result.validity == judge::Validity::valid || std::ranges::any_of(result.cases, same) ||
      result.findings.empty())
    return "";
  return fmt::format(" The run as a whole is {}.", html::css_class(result.validity));
}

Html seal_line(const judge::RunSeal& seal) {
  if (seal.text.empty()) return {};
  Html line = Html::text(seal.text);
  if (!seal.fingerprint.empty())
    line += page::markup(", signed by <code>{}</code>", seal.fingerprint);
  return line;
}

Html header(const RunResult& result) {
  std::string started;
  std::string ended;
  std::size_t rounds = 0;
  for (const CaseResult& case_result : result.cases) {
    rounds += case_result.rounds.size();
    for (const judge::RoundResult& round : case_result.rounds) {
      if (!round.started.empty() && (started.empty() || round.started < started))
        started = round.started;
      ended = std::max(ended, round.ended);
    }
  }
  std::string took;
  if (const auto from = parse_iso_ms(started), to = parse_iso_ms(ended); from && to && *to >= *from)
    took = show(static_cast<double>(*to - *from) / 1000, "s").text();
  Html facts = html::fact("Run", html::code(result.run_id));
  facts += html::fact("Started", started.empty() ? Html() : html::time_element(started));
  facts += html::fact("Took", took);
  facts += html::fact("Measured",
                      counted(result.cases.size(), "case") + ", " + counted(rounds, "round"));
  facts += html::fact("Machine", html::machine_line(result.system));
  facts += html::fact("Assay", html::version_of(result.provenance));
  facts += html::fact("Evidence", seal_line(result.seal));
  return html::masthead({.brand = "Assay report",
                         .title = result.suite.empty() ? "run" : result.suite,
                         .sentence = verdict_sentence(result) + run_sentence(result),
                         .facts = facts,
                         .named = !result.suite.empty()},
                        result.validity, result.run_id);
}

// The files of every run besides report.html.
Html other_files() {
  Html names = page::markup("<code>{}</code> (everything, with a schema)", layout::kResult);
  for (const Format& format : formats())
    if (const std::string_view name = format.files.front();
        format.always && name != layout::kReportHtml && name != layout::kResult)
      names += page::markup(", <code>{}</code>", name);
  return names;
}

Html summary(const RunResult& result) {
  if (result.cases.empty()) return {};
  return page::scrolling(page::to_html(page_summary(result), {.cards = true})) +
         html::hooks(result.hooks);
}

}  // namespace

std::string render_html(const RunResult& result) {
  const std::size_t points = points_per_line(result);
  Html cases;
  for (std::size_t i = 0; i < result.cases.size(); ++i)
    cases += html::case_section(result.cases[i], i + 1, points);
  const Html body = page::fill(
      assets::kReport, {{"masthead", header(result)},
                        {"findings", html::findings(folded_findings(merged_findings(result)))},
                        {"summary", summary(result)},
                        {"sweeps", html::sweeps(result)},
                        {"cases", cases},
                        {"system", html::device_states(result.system) +
                                       html::json_tree(html::without_device_states(result.system))},
                        {"provenance", html::json_tree(result.provenance)},
                        {"files", other_files()}});
  return html::page(fmt::format("{}: {}", result.suite.empty() ? result.run_id : result.suite,
                                judge::to_string(result.validity)),
                    body);
}

}  // namespace assay::report
