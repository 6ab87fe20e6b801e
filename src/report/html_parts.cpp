#include "report/html_parts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "page/table.h"
#include "page/template.h"
#include "report/present.h"
#include "report/report_assets.h"

namespace assay::report::html {

using page::fill;
using page::Html;
using page::markup;

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

constexpr std::size_t kHtmlFindings = 60;

Html one_finding(const FoldedFinding& folded) {
  const judge::Finding& finding = folded.first.finding;
  Html others;
  for (std::size_t i = 0; i < std::min(folded.others.size(), kHtmlFindings); ++i) {
    const MergedFinding& other = folded.others[i];
    others += markup("<li>{}{}</li>", other.finding.reason,
                     other.places.empty() ? "" : " (" + places_text(other.places) + ")");
  }
  return fill(assets::kFinding, {{"class", to_lower(severity_word(finding.severity))},
                                 {"severity", severity_word(finding.severity)},
                                 {"reason", finding.reason},
                                 {"advice", finding.advice},
                                 {"quote", join(finding.quote, "\n")},
                                 {"rule", finding.rule},
                                 {"places", where_text(folded)},
                                 {"others", others},
                                 {"count", folded.others.size()}});
}

Html one_card(const Card& card) {
  return fill(assets::kCard,
              {{"headline", card.headline},
               {"description", card.description},
               {"title", card.title},
               {"better", card.better == Better::neither ? "" : to_text(card.better)},
               {"arrow", card.better == Better::higher ? "↑" : "↓"},
               {"value", card.value},
               {"unit", card.unit},
               {"origin", card.origin},
               {"below", card.below}});
}

// The severity of a rank's problem, for sorting: higher is worse.
int trouble(const judge::RankResult& rank) {
  if (!rank.exit) return 4;
  if (!rank.exit->ok()) return 3;
  if (rank.relative_speed && *rank.relative_speed < 0.95) return 2;
  if (rank.malformed_lines > 0 || rank.dropped_bytes > 0) return 1;
  return 0;
}

// The path within the round's folder: "node1_noderank0/rank3.out.log".
std::string_view short_log(std::string_view log) {
  const auto file = log.rfind('/');
  const auto folder = file == std::string_view::npos ? file : log.rfind('/', file - 1);
  return folder == std::string_view::npos || file == 0 ? log : log.substr(folder + 1);
}

page::Row rank_row(const judge::RankResult& rank) {
  const int bad = trouble(rank);
  std::vector<std::string> remarks;
  if (bad >= 3 && rank.ended_by != "itself" && !rank.ended_by.empty())
    remarks.push_back("ended by " + rank.ended_by);
  if (rank.malformed_lines > 0)
    remarks.push_back(fmt::format("{} malformed lines", rank.malformed_lines));
  if (rank.dropped_bytes > 0)
    remarks.push_back(format_bytes(static_cast<double>(rank.dropped_bytes)) + " of output dropped");
  if (rank.relative_speed && *rank.relative_speed < 0.95) remarks.emplace_back("slow");
  if (!rank.bound.empty())
    remarks.push_back(
        "bound to CPU " + rank.bound +
        (rank.ran_on.empty() || rank.ran_on == rank.bound ? "" : ", seen on " + rank.ran_on));
  const bool known_speed = rank.relative_speed && std::isfinite(*rank.relative_speed);
  page::Cell log(short_log(rank.log), "log", rank.log);
  log.shown = page::Shown::as_it_is;
  return {{std::to_string(rank.rank),
           page::name(rank.host),
           std::to_string(rank.node),
           {rank.exit ? to_string(*rank.exit) : "not ended", "w"},
           format_number(static_cast<double>(rank.steps)),
           format_number(rank.samples),
           rank.mean_step_s ? show(*rank.mean_step_s, "s").text() : "–",
           known_speed ? fmt::format("{:.3f}", *rank.relative_speed) : "–",
           join(remarks, ", "),
           log},
          bad >= 3   ? "bad"
          : bad >= 1 ? "odd"
                     : ""};
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

Html chip(Validity validity) {
  return fill(assets::kChip, {{"class", css_class(validity)},
                              {"glyph", glyph(validity)},
                              {"verdict", judge::to_string(validity)}});
}

Html chip(const judge::CaseResult& result) {
  if (!result.skipped) return chip(result.validity);
  return fill(assets::kChip,
              {{"class", "skipped"}, {"glyph", "M4 8h8"}, {"verdict", kSkippedWord}});
}

Html seal(Validity validity, std::string_view run_id) {
  return fill(assets::kSeal, {{"class", css_class(validity)},
                              {"verdict", judge::to_string(validity)},
                              {"round", validity != Validity::invalid},
                              {"broken", validity == Validity::incomplete},
                              {"cornered", validity == Validity::invalid},
                              {"ring", fmt::format("ASSAY · MEASURED AND JUDGED · {} ·",
                                                   ellipsize(printable(run_id), 26))},
                              {"glyph", glyph(validity)},
                              {"size", validity == Validity::incomplete ? "11.5" : "16"}});
}

Html cards(std::span<const Card> list, std::size_t columns) {
  Html all;
  for (const Card& card : list) all += one_card(card);
  return fill(assets::kCards, {{"columns", columns}, {"cards", all}});
}

Html details(std::string_view title, const Html& content, std::string_view css, bool open) {
  return fill(assets::kDetails,
              {{"class", css}, {"open", open}, {"title", title}, {"content", content}});
}

Html key_values(std::span<const KeyValue> list) {
  Html entries;
  for (const KeyValue& entry : list)
    entries += markup("<dt{0}>{1}</dt><dd{0}>{2}</dd>", Html(entry.wide ? " class=\"wide\"" : ""),
                      entry.key, entry.value);
  return markup("<dl class=\"kv\">{}</dl>", entries);
}

Html remark(const Html& text) {
  return markup("<p class=\"more\">{}</p>", text);
}

Html sparkbars(const judge::CaseResult& result) {
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
  Html bars;
  for (std::size_t i = 0; i < shown; ++i) {
    const judge::RoundResult& round = result.rounds[i];
    const judge::Metric* metric = find_metric(round, result.headline);
    const bool known = metric != nullptr && std::isfinite(metric->value) && highest > 0;
    const double height = known ? std::max(2.0, 26 * std::abs(metric->value) / highest) : 2;
    const std::string value = known ? show(metric->value, unit).text() : std::string("no value");
    const std::string text =
        fmt::format("round {}: {}, {}", round.round, value, judge::to_string(round.validity));
    label += (label.empty() ? "" : "; ") + text;
    bars += markup(
        "<rect class=\"{}\" x=\"{:.0f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"{:.1f}\" rx=\"1\">"
        "<title>{}</title></rect>",
        css_class(round.validity), static_cast<double>(i) * (width + 3) + 1, 28 - height, width,
        height, text);
  }
  if (bars.empty()) return {};
  return markup(
      "<svg class=\"spark\" role=\"img\" aria-label=\"{}\" width=\"{:.0f}\" height=\"30\">{}</svg>",
      label, static_cast<double>(shown) * (width + 3), bars);
}

Html findings(std::span<const FoldedFinding> folded) {
  Html urgent;
  Html minor;
  std::size_t minor_count = 0;
  for (std::size_t i = 0; i < std::min(folded.size(), kHtmlFindings); ++i) {
    const bool is_minor = folded[i].first.finding.severity == Severity::note;
    minor_count += is_minor ? 1 : 0;
    (is_minor ? minor : urgent) += one_finding(folded[i]);
  }
  const auto list = [](const Html& items) {
    return markup("<ul class=\"findings\">{}</ul>", items);
  };
  Html out;
  if (!urgent.empty()) out += list(urgent);
  if (minor_count > 0) out += details(counted(minor_count, "note"), list(minor), "notes");
  if (folded.size() > kHtmlFindings)
    out += remark(
        markup("{} more findings are in <code>result.json</code>.", folded.size() - kHtmlFindings));
  return out;
}

Html rank_table(const judge::RoundResult& round, std::size_t limit) {
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
  std::string title = counted(ranks.size(), "rank");
  if (failed > 0) title += fmt::format(" · {} failed", failed);
  if (slow > 0) title += fmt::format(" · {} slow", slow);
  if (failed == 0) title += failed + slow == 0 ? " · all ended with exit 0" : "";
  page::Table table{{{"Rank", page::Align::right},
                     {"Host"},
                     {"Node", page::Align::right},
                     {"Exit"},
                     {"Steps", page::Align::right},
                     {"Samples", page::Align::right},
                     {"Mean step", page::Align::right},
                     {"Speed", page::Align::right},
                     {"Remarks"},
                     {"Log"}}};
  for (std::size_t i = 0; i < std::min(limit, ranks.size()); ++i)
    table.rows.push_back(rank_row(*ranks[i]));
  Html content = page::scrolling(page::to_html(table));
  if (ranks.size() > limit)
    content +=
        remark(markup("{} of {} ranks, those with a problem first. All of them are in "
                      "<code>ranks.csv</code> and <code>result.json</code>.",
                      limit, ranks.size()));
  return details(title, content, "ranks", ranks.size() <= 8 || failed > 0);
}

}  // namespace assay::report::html
