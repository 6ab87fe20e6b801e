#include "report/html_time.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "page/table.h"
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
      "<li><span>Round {}</span><svg viewBox=\"0 0 {} 16\" preserveAspectRatio=\"none\" "
      "role=\"img\" aria-label=\"Where the time of round {} went\">{}</svg><b>{}</b></li>\n",
      round.round, static_cast<int>(kBarWidth), round.round, segments,
      show(*round.wall_s, "s").text());
}

/// The legend of the bars: a row a part, a column a round.
Html time_table(const std::vector<const RoundResult*>& rounds) {
  page::Table table{{{"Part"}}};
  std::map<TimePart, std::vector<double>> seconds;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    table.columns.push_back({fmt::format("Round {}", rounds[i]->round), page::Align::right});
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
      cells.cells.push_back(value > 0 ? show(value, "s").text() : std::string("–"));
    table.rows.push_back(std::move(cells));
  }
  return page::scrolling(page::to_html(table));
}

}  // namespace

Html time_bars(const judge::CaseResult& result) {
  std::vector<const RoundResult*> rounds;
  double longest = 0;
  for (const RoundResult& round : result.rounds) {
    if (!round.wall_s || !(*round.wall_s > 0) || !std::isfinite(*round.wall_s)) continue;
    if (round.time_shares.empty() || rounds.size() == kMaxTimeBars) continue;
    rounds.push_back(&round);
    longest = std::max(longest, *round.wall_s);
  }
  if (rounds.empty()) return {};
  Html bars;
  for (const RoundResult* round : rounds) bars += time_bar(*round, longest);
  return markup(
      "<section class=\"times\">\n<h3>Where the time went</h3>\n<ol class=\"timebars\">\n{}</ol>\n"
      "{}</section>\n",
      bars, time_table(rounds));
}

}  // namespace assay::report::html
