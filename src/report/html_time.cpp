#include "report/html_time.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "page/table.h"
#include "report/html_parts.h"
#include "report/present.h"

namespace assay::report::html {

using page::Html;
using page::markup;

namespace {

using judge::RoundResult;
using judge::TimePart;
using judge::TimeShare;

constexpr std::size_t kMaxTimeBars = 12;
constexpr double kBarWidth = 1000;

std::string part_class(TimePart part) {
  return fmt::format("t-{}", to_text(part));
}

std::string round_name(const RoundResult& round) {
  return fmt::format("{} {}", round.warmup ? "Warm-up" : "Round", round.round);
}

Html time_bar(const RoundResult& round, double longest) {
  Html segments;
  double x = 0;
  for (const TimeShare& share : round.time_shares) {
    const double width = share.seconds / longest * kBarWidth;
    segments += markup(
        "<rect class=\"{}\" x=\"{:.2f}\" width=\"{:.2f}\" height=\"16\"><title>{}: {} ({})</title>"
        "</rect>",
        part_class(share.part), x, width, judge::title_of(share.part),
        show(share.seconds, "s").text(), show_percent(share.seconds / *round.wall_s));
    x += width;
  }
  return markup(
      "<li><span>{}</span><svg viewBox=\"0 0 {} 16\" preserveAspectRatio=\"none\" "
      "role=\"img\" aria-label=\"Where the time of round {} went\">{}</svg><b>{}</b></li>\n",
      round_name(round), static_cast<int>(kBarWidth), round.round, segments,
      show(*round.wall_s, "s").text());
}

/// Always two decimals, so that a column's numbers can be compared at a glance.
std::string table_seconds(double seconds) {
  return seconds < 1000 ? fmt::format("{:.2f} s", seconds) : show(seconds, "s").text();
}

/// The legend of the bars: one row per part, one column per round.
Html time_table(const std::vector<const RoundResult*>& rounds) {
  page::Table table{{{"Part"}}};
  std::map<TimePart, std::vector<double>> seconds;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    table.columns.push_back({round_name(*rounds[i]), page::Align::right});
    for (const TimeShare& share : rounds[i]->time_shares) {
      std::vector<double>& row = seconds[share.part];
      row.resize(rounds.size());
      row[i] = share.seconds;
    }
  }
  for (const auto& [part, row] : seconds) {
    page::Row cells{
        {markup("<i class=\"swatch {}\"></i>{}", part_class(part), judge::title_of(part))}};
    for (const double value : row)
      cells.cells.push_back(value > 0 ? table_seconds(value) : std::string("–"));
    table.rows.push_back(std::move(cells));
  }
  return page::scrolling(page::to_html(table));
}

/// The parts visible in the bars; with shares for a single round.
Html time_legend(const std::vector<const RoundResult*>& rounds) {
  constexpr double kSeen = 0.005;
  std::map<TimePart, double> largest;
  for (const RoundResult* round : rounds)
    for (const TimeShare& share : round->time_shares) {
      double& part = largest[share.part];
      part = std::max(part, share.seconds / *round->wall_s);
    }
  Html items;
  for (const auto& [part, share] : largest)
    if (share >= kSeen)
      items += markup("<li><i class=\"swatch {}\"></i>{}{}</li>", part_class(part),
                      judge::title_of(part),
                      rounds.size() == 1 ? " " + show_percent(share) : std::string());
  return markup("<ul class=\"phases\">{}</ul>\n", items);
}

}  // namespace

Html time_bars(const judge::CaseResult& result) {
  std::vector<const RoundResult*> rounds;
  double longest = 0;
  const auto add = [&](const RoundResult& round) {
    if (!round.wall_s || !(*round.wall_s > 0) || !std::isfinite(*round.wall_s)) return;
    if (round.time_shares.empty() || rounds.size() == kMaxTimeBars) return;
    rounds.push_back(&round);
    longest = std::max(longest, *round.wall_s);
  };
  std::ranges::for_each(result.warmup_rounds, add);
  std::ranges::for_each(result.rounds, add);
  if (rounds.empty()) return {};
  Html bars;
  for (const RoundResult* round : rounds) bars += time_bar(*round, longest);
  return markup(
      "<div class=\"times\">\n<h3>Where the time went</h3>\n<ol class=\"timebars\">\n{}</ol>\n"
      "{}{}</div>\n",
      bars, time_legend(rounds), details("Seconds of each part", time_table(rounds)));
}

}  // namespace assay::report::html
