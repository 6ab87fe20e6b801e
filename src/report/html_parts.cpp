#include "report/html_parts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "report/findings.h"
#include "report/markup.h"
#include "report/present.h"

namespace assay::report::html {

namespace {

using judge::Severity;
using judge::Validity;

std::string_view glyph(Validity validity) {
  switch (validity) {
    case Validity::valid:
      return "M3.5 8.5l3 3 6-7";
    case Validity::invalid:
      return "M4 4l8 8M12 4l-8 8";
    case Validity::incomplete:
      break;
  }
  return "M8 3.5v5.5M8 12.2v.1";
}

std::string icon(Validity validity) {
  return fmt::format(
      "<svg class=\"icon\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path d=\"{}\"/></svg>",
      glyph(validity));
}

std::string_view severity_word(Severity severity) {
  switch (severity) {
    case Severity::invalid:
      return "Invalid";
    case Severity::incomplete:
      return "Incomplete";
    case Severity::warning:
      return "Warning";
    case Severity::note:
      break;
  }
  return "Note";
}

std::string one_finding(const MergedFinding& merged) {
  const judge::Finding& finding = merged.finding;
  std::string out = fmt::format(
      "<li class=\"finding {}\"><p class=\"reason\"><span class=\"sev\">{}</span> {}</p>",
      to_lower(severity_word(finding.severity)), severity_word(finding.severity),
      escape_markup(finding.reason));
  if (!finding.advice.empty())
    out +=
        fmt::format("<p class=\"advice\"><b>What to do</b> {}</p>", escape_markup(finding.advice));
  if (!finding.quote.empty())
    out += fmt::format("<pre class=\"quote\">{}</pre>", escape_markup(join(finding.quote, "\n")));
  out += fmt::format("<p class=\"where\">rule <code>{}</code>", escape_markup(finding.rule));
  if (const std::string places = places_text(merged.places); !places.empty())
    out += " · " + escape_markup(places);
  return out + "</p></li>\n";
}

constexpr std::size_t kHtmlFindings = 60;

// What is wrong with a rank, for sorting: higher is worse.
int trouble(const judge::RankResult& rank) {
  if (!rank.exit) return 4;
  if (!rank.exit->ok()) return 3;
  if (rank.relative_speed && *rank.relative_speed < 0.95) return 2;
  if (rank.malformed_lines > 0 || rank.dropped_bytes > 0) return 1;
  return 0;
}

// Within its round: "node1_noderank0/rank3.out.log".
std::string_view short_log(std::string_view log) {
  const auto file = log.rfind('/');
  const auto folder = file == std::string_view::npos ? file : log.rfind('/', file - 1);
  return folder == std::string_view::npos || file == 0 ? log : log.substr(folder + 1);
}

std::string rank_row(const judge::RankResult& rank) {
  const int bad = trouble(rank);
  const std::string exit = rank.exit ? to_string(*rank.exit) : "not ended";
  std::string remarks;
  const auto remark = [&](const std::string& text) {
    remarks += (remarks.empty() ? "" : ", ") + text;
  };
  if (bad >= 3 && rank.ended_by != "itself" && !rank.ended_by.empty())
    remark("ended by " + rank.ended_by);
  if (rank.malformed_lines > 0) remark(fmt::format("{} malformed lines", rank.malformed_lines));
  if (rank.dropped_bytes > 0)
    remark(format_bytes(static_cast<double>(rank.dropped_bytes)) + " of output dropped");
  if (rank.relative_speed && *rank.relative_speed < 0.95) remark("slow");
  return fmt::format(
      "<tr{}><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"w\">{}</td><td "
      "class=\"n\">{}"
      "</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td "
      "class=\"log\" title=\"{}\">{}</td></tr>\n",
      bad >= 3   ? " class=\"bad\""
      : bad >= 1 ? " class=\"odd\""
                 : "",
      rank.rank, escape_markup(rank.host), rank.node, escape_markup(exit),
      format_number(static_cast<double>(rank.steps)), format_number(rank.samples),
      rank.mean_step_s ? escape_markup(show(*rank.mean_step_s, "s").text()) : "–",
      rank.relative_speed && std::isfinite(*rank.relative_speed)
          ? fmt::format("{:.3f}", *rank.relative_speed)
          : "–",
      escape_markup(remarks), escape_markup(rank.log), escape_markup(short_log(rank.log)));
}

}  // namespace

std::string_view css_class(Validity validity) {
  switch (validity) {
    case Validity::valid:
      return "valid";
    case Validity::invalid:
      return "invalid";
    case Validity::incomplete:
      break;
  }
  return "incomplete";
}

std::string chip(Validity validity) {
  return fmt::format("<span class=\"chip {}\">{}{}</span>", css_class(validity), icon(validity),
                     judge::to_string(validity));
}

std::string seal(Validity validity, std::string_view run_id) {
  const std::string ring =
      fmt::format("ASSAY · MEASURED AND JUDGED · {} ·", ellipsize(printable(run_id), 26));
  std::string shape;
  if (validity == Validity::invalid) {
    std::string points;
    for (int i = 0; i < 8; ++i) {
      const double angle = (i + 0.5) * 3.14159265358979 / 4;
      points += fmt::format("{:.1f},{:.1f} ", 75 + 72 * std::cos(angle), 75 + 72 * std::sin(angle));
    }
    shape = fmt::format("<polygon class=\"rim\" points=\"{}\"/>", points);
  } else {
    shape = fmt::format("<circle class=\"rim\" cx=\"75\" cy=\"75\" r=\"70\"{}/>",
                        validity == Validity::incomplete ? " stroke-dasharray=\"7 5\"" : "");
  }
  return fmt::format(
      "<svg class=\"seal {}\" viewBox=\"0 0 150 150\" role=\"img\" aria-label=\"Verdict: {}\">{}"
      "<circle class=\"inner\" cx=\"75\" cy=\"75\" r=\"48\"/>"
      "<path id=\"ring\" fill=\"none\" d=\"M75 131a56 56 0 1 1 .01 0\"/>"
      "<text class=\"ring\" aria-hidden=\"true\"><textPath href=\"#ring\" textLength=\"346\" "
      "lengthAdjust=\"spacing\">{}</textPath></text>"
      "<svg x=\"57\" y=\"42\" width=\"36\" height=\"36\" viewBox=\"0 0 16 16\"><path "
      "class=\"mark\" "
      "d=\"{}\"/></svg>"
      "<text class=\"word\" x=\"75\" y=\"98\" text-anchor=\"middle\" "
      "font-size=\"{}\">{}</text></svg>",
      css_class(validity), judge::to_string(validity), shape, escape_markup(ring), glyph(validity),
      validity == Validity::incomplete ? "11.5" : "16", judge::to_string(validity));
}

std::string sparkbars(const judge::CaseResult& result) {
  double highest = 0;
  std::string label;
  std::string unit;
  for (const judge::RoundResult& round : result.rounds) {
    const judge::Metric* metric = find_metric(round, result.headline);
    if (metric == nullptr || !std::isfinite(metric->value)) continue;
    highest = std::max(highest, std::abs(metric->value));
    unit = metric->info.unit;
  }
  const std::size_t shown = std::min<std::size_t>(result.rounds.size(), 24);
  const double width = shown > 12 ? 4 : 7;
  std::string bars;
  for (std::size_t i = 0; i < shown; ++i) {
    const judge::RoundResult& round = result.rounds[i];
    const judge::Metric* metric = find_metric(round, result.headline);
    const bool known = metric != nullptr && std::isfinite(metric->value) && highest > 0;
    const double height = known ? std::max(2.0, 26 * std::abs(metric->value) / highest) : 2;
    const std::string value = known ? show(metric->value, unit).text() : std::string("no value");
    const std::string text =
        fmt::format("round {}: {}, {}", round.round, value, judge::to_string(round.validity));
    label += (label.empty() ? "" : "; ") + text;
    bars += fmt::format(
        "<rect class=\"{}\" x=\"{:.0f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"{:.1f}\" rx=\"1\">"
        "<title>{}</title></rect>",
        css_class(round.validity), static_cast<double>(i) * (width + 3) + 1, 28 - height, width,
        height, escape_markup(text));
  }
  if (bars.empty()) return {};
  return fmt::format(
      "<svg class=\"spark\" role=\"img\" aria-label=\"{}\" width=\"{:.0f}\" height=\"30\">{}</svg>",
      escape_markup(label), static_cast<double>(shown) * (width + 3), bars);
}

std::string findings(const judge::CaseResult& result) {
  const auto merged = merged_findings(result);
  if (merged.empty()) return {};
  std::string urgent;
  std::string minor;
  std::size_t minor_count = 0;
  std::size_t shown = 0;
  for (const MergedFinding& one : merged) {
    if (++shown > kHtmlFindings) break;
    const bool is_minor = one.finding.severity == Severity::note;
    minor_count += is_minor ? 1 : 0;
    (is_minor ? minor : urgent) += one_finding(one);
  }
  std::string out;
  if (!urgent.empty()) out += "<ul class=\"findings\">" + urgent + "</ul>";
  if (minor_count > 0)
    out += fmt::format(
        "<details class=\"notes\"><summary>{} note{}</summary><ul class=\"findings\">{}</ul>"
        "</details>",
        minor_count, minor_count == 1 ? "" : "s", minor);
  if (merged.size() > kHtmlFindings)
    out += fmt::format("<p class=\"more\">{} more findings are in <code>result.json</code>.</p>",
                       merged.size() - kHtmlFindings);
  return out;
}

std::string rank_table(const judge::RoundResult& round, std::size_t limit) {
  if (round.ranks.empty()) return {};
  std::vector<const judge::RankResult*> ranks;
  for (const judge::RankResult& rank : round.ranks) ranks.push_back(&rank);
  std::ranges::stable_sort(ranks, [](const judge::RankResult* a, const judge::RankResult* b) {
    if (trouble(*a) != trouble(*b)) return trouble(*a) > trouble(*b);
    return a->rank < b->rank;
  });
  const auto failed =
      std::ranges::count_if(ranks, [](const auto* rank) { return trouble(*rank) >= 3; });
  const auto slow =
      std::ranges::count_if(ranks, [](const auto* rank) { return trouble(*rank) == 2; });
  std::string title = fmt::format("{} rank{}", ranks.size(), ranks.size() == 1 ? "" : "s");
  if (failed > 0) title += fmt::format(" · {} failed", failed);
  if (slow > 0) title += fmt::format(" · {} slow", slow);
  if (failed == 0) title += failed + slow == 0 ? " · all ended with exit 0" : "";
  const bool open = ranks.size() <= 8 || failed > 0;
  std::string out = fmt::format(
      "<details class=\"ranks\"{}><summary>{}</summary><div class=\"scroll\"><table><thead><tr><th "
      "class=\"n\">Rank</th><th>Host</th><th class=\"n\">Node</th><th>Exit</th><th "
      "class=\"n\">Steps</th><th class=\"n\">Samples</th><th class=\"n\">Mean step</th><th "
      "class=\"n\">Speed</th><th>Remarks</th><th>Log</th></tr></thead><tbody>\n",
      open ? " open" : "", title);
  for (std::size_t i = 0; i < std::min(limit, ranks.size()); ++i) out += rank_row(*ranks[i]);
  out += "</tbody></table></div>";
  if (ranks.size() > limit)
    out += fmt::format(
        "<p class=\"more\">{} of {} ranks, those with a problem first. All of them are in "
        "<code>ranks.csv</code> and <code>result.json</code>.</p>",
        limit, ranks.size());
  return out + "</details>\n";
}

}  // namespace assay::report::html
