#include "history/history_text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"
#include "core/time.h"
#include "page/table.h"
#include "report/csv.h"
#include "report/present.h"
#include "report/summary_table.h"
#include "stats/descriptive.h"

namespace assay::history {

namespace {

constexpr std::size_t kSparks = 24;
constexpr std::size_t kCauses = 4;

std::string iso_of(std::int64_t ms) {
  return ms == 0 ? "" : iso_utc(ms * 1'000'000);
}

const FoundRun& run_at(const History& history, const Trend& trend, std::size_t point) {
  return history.runs[trend.points[point].run];
}

// A trend's course as a single word.
std::string sparkline(const Trend& trend) {
  static constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t count = std::min(trend.points.size(), kSparks);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> group;
    for (std::size_t k = trend.points.size() * i / count; k < trend.points.size() * (i + 1) / count;
         ++k)
      group.push_back(trend.points[k].value);
    values.push_back(stats::median(group).value_or(0));
  }
  const auto [low, high] = std::ranges::minmax(values);
  // Variation below two percent is drawn flat, so that noise does not look like a change.
  const double room = std::max(high - low, 0.02 * std::max(std::abs(low), std::abs(high)));
  std::string out;
  for (const double value : values) {
    const double share = room > 0 ? 0.5 + (value - (low + high) / 2) / room : 0.5;
    out += kBlocks.at(static_cast<std::size_t>(std::clamp(share * 7.999, 0.0, 7.0)));
  }
  return out;
}

std::string change_color(Direction direction) {
  return direction == Direction::better ? "32" : direction == Direction::worse ? "31" : "33";
}

page::Table trend_table(const History& history, bool unicode) {
  using page::Align;
  page::Table table{{{.title = "CASE", .cut = page::Cut::middle, .soft_min = 24, .hard_min = 16},
                     {.title = "MACHINE", .cut = page::Cut::end, .soft_min = 12, .hard_min = 8},
                     {.title = "METRIC", .cut = page::Cut::end, .soft_min = 16, .hard_min = 12},
                     {.title = "RUNS", .align = Align::right},
                     {.title = "LEVEL NOW", .align = Align::right},
                     {.title = "LAST CHANGE"},
                     {.title = "SINCE"}}};
  if (unicode) table.columns.push_back({.title = "TREND"});
  for (const Trend& trend : history.trends) {
    page::Cell change("–");
    std::string since = "–";
    if (!trend.changes.empty()) {
      change = page::Cell(change_words(trend, trend.changes.back()));
      change.color = change_color(trend.changes.back().direction);
      since = show_time(run_at(history, trend, trend.changes.back().point.at).started_ms);
    }
    page::Row row{{page::name(trend.case_name), page::name(trend.machine),
                   report::metric_title(trend.info.name), std::to_string(trend.points.size()),
                   report::show(trend.level(), trend.info.unit).text(), change, since}};
    if (unicode) row.cells.emplace_back(sparkline(trend));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string change_line(const History& history, const Trend& trend, std::size_t i) {
  const TrendChange& change = trend.changes[i];
  const FoundRun& run = run_at(history, trend, change.point.at);
  const std::size_t before = change.point.at - (i == 0 ? 0 : trend.changes[i - 1].point.at);
  const std::size_t end =
      i + 1 < trend.changes.size() ? trend.changes[i + 1].point.at : trend.points.size();
  return fmt::format(
      "{}  {} on {}: {} {}, {} → {} ({} before, {} since), from {} on", show_time(run.started_ms),
      printable(trend.case_name), printable(trend.machine), report::metric_title(trend.info.name),
      change_words(trend, change), report::show(change.point.before, trend.info.unit).text(),
      report::show(change.point.after, trend.info.unit).text(), counted(before, "run"),
      end - change.point.at, printable(run.folder));
}

std::string tags_of(const FoundRun& run) {
  return join(run.tags, " ");
}

std::string verdict_of(const FoundRun& run) {
  if (!run.copy_of.empty()) return "copy";
  return std::string(run.state == RunState::ended ? judge::to_string(run.validity)
                                                  : to_text(run.state));
}

}  // namespace

std::string show_time(std::int64_t ms) {
  const std::string iso = iso_of(ms);
  return iso.empty() ? "–" : iso.substr(0, 10) + " " + iso.substr(11, 5) + " UTC";
}

std::string change_words(const Trend& trend, const TrendChange& change) {
  compare::MetricChange word;
  word.info = trend.info;
  word.verdict =
      change.direction == Direction::better ? compare::Verdict::better : compare::Verdict::worse;
  if (change.direction == Direction::other)
    return fmt::format("CHANGED by {:+.3g} %", change.point.change() * 100);
  return fmt::format("{} by {:.3g} %", compare::verdict_word(word),
                     std::abs(change.point.change()) * 100);
}

std::vector<std::string> cause_lines(const History& history, const Trend& trend,
                                     const TrendChange& change, std::size_t most) {
  if (change.differences.empty())
    return {"nothing that Assay records changed within two runs of it"};
  const auto side = [](const std::string& text) {
    return text.empty() ? std::string("–") : ellipsize(printable(text), 60);
  };
  std::vector<std::string> out;
  for (const compare::Difference& difference : change.differences) {
    if (out.size() == most) break;
    out.push_back(fmt::format("{}: {} → {}", printable(difference.what), side(difference.base),
                              side(difference.candidate)));
  }
  if (change.differences.size() > most)
    out.push_back(fmt::format("and {} more", change.differences.size() - most));
  if (change.differs_at != change.point.at)
    out.front() += fmt::format(" (with {})", run_at(history, trend, change.differs_at).folder);
  return out;
}

std::string render_history(const History& history, const report::ConsoleStyle& style) {
  std::string out;
  if (history.trends.empty())
    return fmt::format(
        "No case with a result that counts in {}; '--invalid-too' takes in what is not VALID.\n",
        counted(history.runs.size(), "run"));
  const page::TextStyle text{.width = style.width, .heading = "1", .color = style.color};
  for (const std::string& line : page::text_lines(trend_table(history, style.unicode), text))
    out += line + "\n";
  bool any = false;
  std::size_t left_out = 0;
  for (const Trend& trend : history.trends) {
    left_out += trend.left_out;
    for (std::size_t i = 0; i < trend.changes.size(); ++i) {
      out += (any ? "" : "\nChanges\n") + change_line(history, trend, i) + "\n";
      any = true;
      for (const std::string& cause : cause_lines(history, trend, trend.changes[i], kCauses))
        out += "    " + cause + "\n";
    }
  }
  if (left_out > 0)
    out += fmt::format("\n{} not VALID and left out (--invalid-too takes them in)\n",
                       left_out == 1 ? "1 result is" : fmt::format("{} results are", left_out));
  return out;
}

Json history_to_json(const History& history) {
  Json trends = Json::array();
  for (const Trend& trend : history.trends) {
    Json points = Json::array();
    for (const TrendPoint& point : trend.points) {
      const FoundRun& run = history.runs[point.run];
      points.push_back({{"run", run.run_id},
                        {"folder", run.folder},
                        {"started", iso_of(run.started_ms)},
                        {"value", point.value},
                        {"low", point.low},
                        {"high", point.high},
                        {"rounds", point.rounds}});
    }
    Json changes = Json::array();
    for (const TrendChange& change : trend.changes) {
      Json differences = Json::array();
      for (const compare::Difference& difference : change.differences)
        differences.push_back({{"what", difference.what},
                               {"before", difference.base},
                               {"after", difference.candidate}});
      const FoundRun& run = run_at(history, trend, change.point.at);
      changes.push_back({{"at", change.point.at},
                         {"run", run.run_id},
                         {"started", iso_of(run.started_ms)},
                         {"before", change.point.before},
                         {"after", change.point.after},
                         {"change", change.point.change()},
                         {"direction", to_text(change.direction)},
                         {"differs_at", change.differs_at},
                         {"differences", differences}});
    }
    trends.push_back({{"case", trend.case_name},
                      {"machine", trend.machine},
                      {"metric", trend.info.name},
                      {"unit", trend.info.unit},
                      {"better", to_text(trend.info.better)},
                      {"level", trend.level()},
                      {"left_out", trend.left_out},
                      {"points", points},
                      {"changes", changes}});
  }
  return {{"schema_version", 1}, {"runs", history.runs.size()}, {"trends", trends}};
}

std::string history_to_csv(const History& history) {
  using report::csv_cell;
  std::string out = "case,machine,metric,unit,run,folder,started,value,low,high,rounds,change\r\n";
  for (const Trend& trend : history.trends)
    for (std::size_t i = 0; i < trend.points.size(); ++i) {
      const TrendPoint& point = trend.points[i];
      const FoundRun& run = history.runs[point.run];
      const auto change =
          std::ranges::find(trend.changes, i, [](const TrendChange& one) { return one.point.at; });
      out += fmt::format(
          "{},{},{},{},{},{},{},{},{},{},{},{}\r\n", csv_cell(trend.case_name),
          csv_cell(trend.machine), csv_cell(trend.info.name), csv_cell(trend.info.unit),
          csv_cell(run.run_id), csv_cell(run.folder), iso_of(run.started_ms), point.value,
          point.low, point.high, point.rounds,
          change == trend.changes.end() ? "" : fmt::format("{}", change->point.change()));
    }
  return out;
}

std::string render_runs(const std::vector<FoundRun>& runs, const report::ConsoleStyle& style) {
  page::Table table{{{.title = "RUN"},
                     {.title = "STARTED"},
                     {.title = "SUITE", .cut = page::Cut::end, .soft_min = 12, .hard_min = 8},
                     {.title = "VERDICT"},
                     {.title = "MACHINE", .cut = page::Cut::end, .soft_min = 12, .hard_min = 8},
                     {.title = "TAGS", .cut = page::Cut::end, .soft_min = 10, .hard_min = 6},
                     {.title = "NOTE", .cut = page::Cut::end, .soft_min = 12, .hard_min = 6}}};
  for (const FoundRun& run : runs) {
    page::Cell verdict(verdict_of(run) + (run.archived.empty() ? "" : ", archived"));
    if (run.state == RunState::ended) verdict.color = report::verdict_color(run.validity);
    std::string note = run.notes.empty() ? "" : run.notes.back().text;
    std::ranges::replace(note, '\n', ' ');
    table.rows.push_back({{run.folder, show_time(run.started_ms), run.suite, verdict, run.machine,
                           tags_of(run), note}});
  }
  std::string out;
  const page::TextStyle text{.width = style.width, .heading = "1", .color = style.color};
  for (const std::string& line : page::text_lines(table, text)) out += line + "\n";
  return out;
}

Json runs_to_json(const std::vector<FoundRun>& runs) {
  Json out = Json::array();
  for (const FoundRun& run : runs) {
    Json notes = Json::array();
    for (const Note& note : run.notes) notes.push_back({{"at", note.at}, {"text", note.text}});
    Json entry = {{"folder", run.folder},
                  {"run", run.run_id},
                  {"suite", run.suite},
                  {"state", to_text(run.state)},
                  {"validity", nullptr},
                  {"started", iso_of(run.started_ms)},
                  {"ended", iso_of(run.ended_ms)},
                  {"machine", run.machine},
                  {"assay", run.version},
                  {"tags", run.tags},
                  {"notes", notes}};
    if (run.state == RunState::ended) entry["validity"] = judge::to_string(run.validity);
    if (!run.copy_of.empty()) entry["copy_of"] = run.copy_of;
    if (!run.archived.empty()) entry["archived"] = run.archived;
    if (!run.problem.empty()) entry["problem"] = run.problem;
    out.push_back(std::move(entry));
  }
  return {{"schema_version", 1}, {"runs", out}};
}

std::string runs_to_csv(const std::vector<FoundRun>& runs) {
  using report::csv_cell;
  std::string out =
      "folder,run,suite,verdict,started,ended,machine,assay,tags,copy_of,problem,archived\r\n";
  for (const FoundRun& run : runs)
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\r\n", csv_cell(run.folder),
                       csv_cell(run.run_id), csv_cell(run.suite), csv_cell(verdict_of(run)),
                       iso_of(run.started_ms), iso_of(run.ended_ms), csv_cell(run.machine),
                       csv_cell(run.version), csv_cell(tags_of(run)), csv_cell(run.copy_of),
                       csv_cell(run.problem), csv_cell(run.archived));
  return out;
}

}  // namespace assay::history
