#include "report/html.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"
#include "report/assets.h"
#include "report/chart.h"
#include "report/html_parts.h"
#include "report/markup.h"
#include "report/mllog.h"
#include "report/present.h"

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

// The policy names the one script by its hash: text from logs can never run, and nothing is loaded.
std::string script_hash() {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string_view hex = assets::script_sha256();
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 6) {
    const std::string_view part = hex.substr(i, 6);
    unsigned bits = 0;
    for (const char c : part)
      bits = bits << 4 | static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
    bits <<= (6 - part.size()) * 4;
    const std::size_t digits = part.size() == 6 ? 4 : part.size() == 4 ? 3 : 2;
    for (std::size_t k = 0; k < digits; ++k) out += kDigits[bits >> (18 - 6 * k) & 63];
    out.append(4 - digits, '=');
  }
  return "sha256-" + out;
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

std::string fact(std::string_view name, const std::string& value) {
  return value.empty() ? std::string()
                       : fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, value);
}

// "2026-11-15 10:15:00 UTC" to read, the machine form in the attribute.
std::string time_element(const std::string& iso) {
  if (!parse_iso_ms(iso)) return escape_markup(iso);
  return fmt::format("<time datetime=\"{}\">{} {} UTC</time>", escape_markup(iso),
                     escape_markup(iso.substr(0, 10)), escape_markup(iso.substr(11, 8)));
}

std::string version_of(const Json& provenance) {
  if (!provenance.is_object()) return {};
  for (const char* key : {"assay", "assay_version", "version"}) {
    const auto found = provenance.find(key);
    if (found == provenance.end()) continue;
    if (found->is_string()) return escape_markup(found->get<std::string>());
    if (found->is_object() && found->contains("version") && (*found)["version"].is_string())
      return escape_markup((*found)["version"].get<std::string>());
  }
  return {};
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
  std::string out = fmt::format(
      "<header class=\"top {}\"><div class=\"title\"><p class=\"brand\"><svg viewBox=\"0 0 20 20\" "
      "aria-hidden=\"true\"><path d=\"M10 1.5l7.4 4.25v8.5L10 18.5l-7.4-4.25v-8.5z\"/><path "
      "d=\"M6.4 13.2L10 5.4l3.6 7.8M7.7 10.6h4.6\"/></svg>Assay report</p><h1>{}</h1><p "
      "class=\"verdict\">{}</p></div>{}",
      html::css_class(result.validity), escape_markup(result.suite.empty() ? "run" : result.suite),
      verdict_sentence(result), html::seal(result.validity, result.run_id));
  out += "<dl class=\"facts\">";
  out += fact("Run", "<code>" + escape_markup(result.run_id) + "</code>");
  out += fact("Started", started.empty() ? "" : time_element(started));
  out += fact("Took", took);
  out += fact("Measured",
              fmt::format("{} case{}, {} round{}", result.cases.size(),
                          result.cases.size() == 1 ? "" : "s", rounds, rounds == 1 ? "" : "s"));
  out += fact("Machine", html::machine_line(result.system));
  out += fact("Assay", version_of(result.provenance));
  return out + "</dl></header>\n";
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
  const std::string_view script = assets::script();
  const std::string name = escape_markup(result.suite.empty() ? result.run_id : result.suite);
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src '{}'; img-src data:\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" "
      "content=\"light dark\">\n<title>{}: {} · Assay</title>\n<link rel=\"icon\" "
      "href=\"data:,\">\n"
      "<style>\n{}</style>\n</head>\n<body>\n<main>\n",
      script_hash(), name, judge::to_string(result.validity), assets::style());
  out += header(result) + summary_table(result);
  const std::size_t points = points_per_line(result);
  for (std::size_t i = 0; i < result.cases.size(); ++i)
    out += html::case_section(result.cases[i], i + 1, points);
  out += fmt::format(
      "<section class=\"evidence\" aria-labelledby=\"h-system\"><h2 "
      "id=\"h-system\">Environment</h2>{}"
      "</section>\n<section class=\"evidence\" aria-labelledby=\"h-provenance\"><h2 "
      "id=\"h-provenance\">Provenance</h2>{}</section>\n",
      html::json_tree(result.system), html::json_tree(result.provenance));
  out +=
      "<footer><p>Beside this file: <code>result.json</code> (everything, with a schema), "
      "<code>results.csv</code>, <code>ranks.csv</code>, <code>junit.xml</code>, "
      "<code>report.txt</code>, <code>mllog/</code>. <code>assay report</code> computes all of "
      "them "
      "again from the evidence in the run directory.</p></footer>\n</main>\n";
  return out + fmt::format("<script>{}</script>\n</body>\n</html>\n", script);
}

}  // namespace assay::report
