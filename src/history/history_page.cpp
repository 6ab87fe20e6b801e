#include "history/history_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/parallel.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "history/history_assets.h"
#include "history/history_text.h"
#include "page/table.h"
#include "page/template.h"
#include "report/html_page.h"
#include "report/present.h"
#include "report/trend_chart.h"

namespace assay::history {

namespace {

using page::Cell;
using page::Html;
using page::markup;
using report::TrendChart;

constexpr std::size_t kPageCauses = 8;

// A path as part of an address, with special characters in hex.
std::string address_of(const std::string& path) {
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '/';
    if (plain)
      out += c;
    else
      out += fmt::format("%{:02X}", byte);
  }
  return out;
}

class HistoryPage {
 public:
  HistoryPage(const History& history, const std::optional<std::string>& links)
      : history_(history), links_(links) {}

  [[nodiscard]] Html masthead() const {
    std::size_t worse = 0;
    std::size_t changes = 0;
    for (const Trend& trend : history_.trends) {
      changes += trend.changes.size();
      worse += !trend.changes.empty() && trend.changes.back().direction == Direction::worse ? 1 : 0;
    }
    std::string sentence = fmt::format("{}, {}.", counted(history_.trends.size(), "trend"),
                                       changes == 0 ? "no change" : counted(changes, "change"));
    if (worse > 0)
      sentence += fmt::format(" {} lately for the worse.",
                              worse == 1 ? "One changed" : fmt::format("{} changed", worse));
    Html facts = report::html::fact("Runs", std::to_string(history_.runs.size()));
    if (!history_.runs.empty()) {
      facts += report::html::fact("First", show_time(history_.runs.front().started_ms));
      facts += report::html::fact("Last", show_time(history_.runs.back().started_ms));
    }
    return report::html::plain_masthead(
        {.brand = "Assay history", .title = "History", .sentence = sentence, .facts = facts});
  }

  [[nodiscard]] Html table() const {
    using page::Align;
    page::Table table{{{.title = "Case"},
                       {.title = "Machine"},
                       {.title = "Metric"},
                       {.title = "Runs", .align = Align::right},
                       {.title = "Level now", .align = Align::right},
                       {.title = "Last change"},
                       {.title = "Since"}}};
    for (std::size_t i = 0; i < history_.trends.size(); ++i) {
      const Trend& trend = history_.trends[i];
      Cell change("–");
      std::string since = "–";
      if (!trend.changes.empty()) {
        change = Cell(change_text(trend, trend.changes.back()));
        since = show_time(run_of(trend, trend.changes.back().point.at).started_ms);
      }
      const Html name = i < kMaxCharts ? markup("<a href=\"#trend{}\">{}</a>", i + 1,
                                                page::as_name(trend.case_name))
                                       : page::as_name(trend.case_name);
      table.rows.push_back(
          {{Cell(name), page::name(trend.machine), report::metric_title(trend.info.name),
            std::to_string(trend.points.size()),
            report::show(trend.level(), trend.info.unit).text(), change, since}});
    }
    return page::scrolling(page::to_html(table, {.cards = true}));
  }

  [[nodiscard]] Html trends() const {
    Html out;
    const std::vector<Html> drawn = charts();
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const Trend& trend = history_.trends[i];
      std::string subtitle =
          fmt::format("{} · {}", trend.machine, counted(trend.points.size(), "run"));
      if (trend.left_out > 0) subtitle += fmt::format(" · {} not VALID left out", trend.left_out);
      out += page::fill(assets::kTrend, {{"id", fmt::format("trend{}", i + 1)},
                                         {"name", trend.case_name},
                                         {"subtitle", subtitle},
                                         {"chart", drawn[i]},
                                         {"changes", changes_table(trend)}});
    }
    return out;
  }

 private:
  [[nodiscard]] std::vector<Html> charts() const {
    std::vector<Html> out(std::min(history_.trends.size(), kMaxCharts));
    run_parallel(out.size(), 0, {}, [&](std::size_t i, const std::stop_token&) {
      out[i] = report::render_trend(chart_of(history_.trends[i]));
    });
    return out;
  }

  [[nodiscard]] const FoundRun& run_of(const Trend& trend, std::size_t point) const {
    return history_.runs[trend.points[point].run];
  }

  [[nodiscard]] std::string link_to(const FoundRun& run) const {
    if (!links_ || !run.archived.empty()) return {};
    return address_of(*links_ + run.folder + "/" + std::string(layout::kReportHtml));
  }

  [[nodiscard]] static Html change_text(const Trend& trend, const TrendChange& change) {
    const std::string words = change_words(trend, change);
    if (change.direction == Direction::other) return Html::text(words);
    return markup("<span class=\"{}-text\">{}</span>", to_text(change.direction), words);
  }

  [[nodiscard]] TrendChart chart_of(const Trend& trend) const {
    TrendChart chart{.title = report::metric_title(trend.info.name), .unit = trend.info.unit};
    chart.stat = "now " + report::show(trend.level(), trend.info.unit).text();
    for (const TrendPoint& point : trend.points) {
      const FoundRun& run = history_.runs[point.run];
      const std::string time = show_time(run.started_ms);
      chart.points.push_back(
          {point.value, point.low, point.high, time.substr(0, 10),
           fmt::format("{} · {}: {}, {}{}", time, run.folder,
                       report::show(point.value, trend.info.unit).text(),
                       counted(point.rounds, "round"), run.archived.empty() ? "" : ", archived"),
           link_to(run)});
    }
    std::size_t first = 0;
    for (const TrendChange& change : trend.changes) {
      chart.levels.push_back({first, change.point.at, change.point.before});
      first = change.point.at;
      chart.marks.push_back({change.point.at, std::string(to_text(change.direction)),
                             change_words(trend, change) + ": " +
                                 join(cause_lines(history_, trend, change, kPageCauses), "; ")});
    }
    chart.levels.push_back({first, trend.points.size(), trend.level()});
    return chart;
  }

  [[nodiscard]] Html changes_table(const Trend& trend) const {
    if (trend.changes.empty()) return {};
    page::Table table{{{.title = "From", .css = "w"},
                       {.title = "Change", .css = "w"},
                       {.title = "Level"},
                       {.title = "What changed then"}}};
    for (const TrendChange& change : trend.changes) {
      const FoundRun& run = run_of(trend, change.point.at);
      const std::string link = link_to(run);
      const Html name = report::html::code(run.folder);
      Html from = markup("{}<span class=\"sub\">", show_time(run.started_ms));
      from += link.empty() ? name : markup("<a href=\"{}\">{}</a>", link, name);
      from += Html("</span>");
      Html causes;
      for (const std::string& line : cause_lines(history_, trend, change, kPageCauses))
        causes += markup("<li>{}</li>", line);
      table.rows.push_back({{Cell(from), Cell(change_text(trend, change)),
                             report::show(change.point.before, trend.info.unit).text() + " → " +
                                 report::show(change.point.after, trend.info.unit).text(),
                             Cell(markup("<ul>{}</ul>", causes))}});
    }
    return page::scrolling(page::to_html(table, {.css = "changes", .cards = true}));
  }

  const History& history_;
  const std::optional<std::string>& links_;
};

}  // namespace

std::string render_history_page(const History& history, const std::optional<std::string>& links,
                                const std::vector<std::string>& remarks) {
  const HistoryPage parts(history, links);
  Html lines;
  for (const std::string& remark : remarks) lines += markup("<li>{}</li>", remark);
  if (history.trends.size() > kMaxCharts)
    lines += markup("<li>charts of the first {} trends; --case and --host choose</li>", kMaxCharts);
  const Html body =
      page::fill(assets::kHistory, {{"masthead", parts.masthead()},
                                    {"table", history.trends.empty() ? Html() : parts.table()},
                                    {"empty", history.trends.empty()},
                                    {"remarks", lines},
                                    {"trends", parts.trends()}});
  return report::html::page("History", body);
}

}  // namespace assay::history
