#include "history/trends.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parallel.h"
#include "core/text.h"
#include "stats/descriptive.h"

namespace assay::history {

namespace {

using compare::Difference;
using database::Statement;

constexpr std::size_t kNoPlace = std::numeric_limits<std::size_t>::max();

struct CaseEntry {
  bool known = false;
  judge::Validity validity = judge::Validity::incomplete;
  std::int64_t headline = 0;  ///< 0: none
  std::int64_t configuration = 0;
};

/// Reads trends from the tables of the index.
class TrendReader {
 public:
  TrendReader(RunIndex& index, const TrendOptions& options, History& history)
      : database_(index.database()), options_(options), history_(history) {
    for (std::size_t i = 0; i < history_.runs.size(); ++i) {
      const auto id = static_cast<std::size_t>(history_.runs[i].id);
      if (places_.size() <= id) places_.resize(id + 1, kNoPlace);
      if (history_.runs[i].copy_of.empty()) places_[id] = i;
    }
    Statement metrics = database_.prepare("SELECT id, name, unit, better FROM metrics");
    while (metrics.step())
      metrics_.emplace(metrics.number(0), MetricInfo{metrics.text(1), metrics.text(2),
                                                     static_cast<Better>(metrics.number(3)), ""});
    for (const std::string& name : options_.metrics) require_metric(name);
  }

  void read() {
    Statement cases = database_.prepare("SELECT id, name FROM cases ORDER BY name");
    while (cases.step())
      if (case_fits(cases.text(1), options_.runs.cases)) read_case(cases.number(0), cases.text(1));
  }

 private:
  void require_metric(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& [id, info] : metrics_) {
      if (info.name == name) return;
      names.push_back(info.name);
    }
    throw Error(ErrorKind::usage,
                "no run has the metric '" + printable(name) + "'" + did_you_mean(name, names), {},
                "'assay list metrics' describes them");
  }

  // The run's position among the selected ones.
  [[nodiscard]] std::size_t place_of(std::int64_t id) const {
    const auto at = static_cast<std::size_t>(id);
    return at < places_.size() ? places_[at] : kNoPlace;
  }

  void read_case(std::int64_t id, const std::string& name) {
    std::vector<CaseEntry> entries(history_.runs.size());
    Statement rows = database_.prepare(
        "SELECT run, validity, headline, configuration FROM run_cases WHERE case_id = ?");
    rows.bind(1, id);
    std::size_t newest = 0;
    std::int64_t headline = 0;
    while (rows.step()) {
      const std::size_t place = place_of(rows.number(0));
      if (place == kNoPlace) continue;
      entries[place] = {true, static_cast<judge::Validity>(rows.number(1)), rows.number(2),
                        rows.number(3)};
      if (entries[place].headline != 0 && place >= newest) {
        newest = place;
        headline = entries[place].headline;
      }
    }
    for (const std::int64_t metric : metrics_of(headline)) read_values(id, name, metric, entries);
  }

  // In the order of naming; those of one name with other units follow each other.
  [[nodiscard]] std::vector<std::int64_t> metrics_of(std::int64_t headline) const {
    std::vector<std::string> names = options_.metrics;
    if (names.empty() && headline != 0) names.push_back(metrics_.at(headline).name);
    std::vector<std::int64_t> out;
    for (const std::string& name : names)
      for (const auto& [id, info] : metrics_)
        if (info.name == name) out.push_back(id);
    return out;
  }

  void read_values(std::int64_t case_id, const std::string& name, std::int64_t metric,
                   const std::vector<CaseEntry>& entries) {
    Statement rows = database_.prepare(
        "SELECT run, n, median, low, high FROM metric_values WHERE metric = ? AND case_id = ?");
    rows.bind(1, metric).bind(2, case_id);
    std::map<std::string, Trend> by_machine;
    while (rows.step()) {
      const std::size_t place = place_of(rows.number(0));
      if (place == kNoPlace || !entries[place].known || !std::isfinite(rows.real(2))) continue;
      Trend& trend = by_machine[history_.runs[place].machine];
      if (entries[place].validity != judge::Validity::valid && !options_.invalid_too) {
        ++trend.left_out;
        continue;
      }
      trend.points.push_back({place, rows.real(2), rows.real(3), rows.real(4),
                              static_cast<int>(rows.number(1)), entries[place].configuration});
    }
    for (auto& [machine, trend] : by_machine) {
      if (trend.points.empty()) continue;
      trend.case_name = name;
      trend.machine = machine;
      trend.info = metrics_.at(metric);
      std::ranges::sort(trend.points, {}, &TrendPoint::run);
      history_.trends.push_back(std::move(trend));
    }
  }

  database::Database& database_;
  const TrendOptions& options_;
  History& history_;
  std::vector<std::size_t> places_;  // by a run's id
  std::map<std::int64_t, MetricInfo> metrics_;
};

/// Reads the facts of runs, each set once.
class FactsReader {
 public:
  explicit FactsReader(RunIndex& index) : database_(index.database()) {}

  const compare::Leaves& operator()(std::int64_t id) {
    const auto [known, is_new] = facts_.try_emplace(id);
    if (is_new) {
      Statement row = database_.prepare("SELECT text FROM facts WHERE id = ?");
      row.bind(1, id);
      if (row.step()) {
        const Json json = parse_json_or_null(row.text(0));
        for (const auto& [key, value] : json.items())
          if (value.is_string()) known->second[key] = value.get<std::string>();
      }
    }
    return known->second;
  }

 private:
  database::Database& database_;
  std::map<std::int64_t, compare::Leaves> facts_;
};

// The most frequent causes of speed changes come first.
std::size_t place_of_cause(const std::string& what) {
  constexpr std::array<std::string_view, 12> kTelling{
      "driver", "kernel", "firmware",  "assay.version", "assay.revision", "config.",
      "env.",   "suite",  "overrides", "launcher",      "accelerators",   "cpu"};
  const auto found = std::ranges::find_if(
      kTelling, [&](std::string_view part) { return what.find(part) != std::string::npos; });
  return static_cast<std::size_t>(found - kTelling.begin());
}

std::vector<Difference> differences_at(const History& history, const Trend& trend, std::size_t at,
                                       FactsReader& facts) {
  const TrendPoint& before = trend.points[at - 1];
  const TrendPoint& after = trend.points[at];
  std::vector<Difference> out;
  if (before.configuration != after.configuration)
    out = compare::leaf_differences(facts(before.configuration), facts(after.configuration));
  const std::int64_t was = history.runs[before.run].environment;
  const std::int64_t is = history.runs[after.run].environment;
  if (was != is)
    for (Difference& difference : compare::leaf_differences(facts(was), facts(is)))
      out.push_back(std::move(difference));
  std::ranges::stable_sort(out, {}, [](const Difference& one) { return place_of_cause(one.what); });
  return out;
}

void explain(const History& history, const Trend& trend, TrendChange& change, FactsReader& facts) {
  const auto at = static_cast<std::ptrdiff_t>(change.point.at);
  const auto last = static_cast<std::ptrdiff_t>(trend.points.size()) - 1;
  change.differs_at = change.point.at;
  for (const std::ptrdiff_t away : {0, -1, 1, -2, 2}) {
    if (at + away < 1 || at + away > last) continue;
    change.differences = differences_at(history, trend, static_cast<std::size_t>(at + away), facts);
    if (change.differences.empty()) continue;
    change.differs_at = static_cast<std::size_t>(at + away);
    return;
  }
}

Direction direction_of(const stats::ChangePoint& point, Better better) {
  if (better == Better::neither) return Direction::other;
  return (point.after > point.before) == (better == Better::higher) ? Direction::better
                                                                    : Direction::worse;
}

void find_trend_changes(Trend& trend, const stats::ChangeOptions& options) {
  std::vector<double> values;
  for (const TrendPoint& point : trend.points) values.push_back(point.value);
  for (const stats::ChangePoint& point : stats::find_changes(values, options))
    trend.changes.push_back({point, direction_of(point, trend.info.better)});
}

}  // namespace

double Trend::level() const {
  if (!changes.empty()) return changes.back().point.after;
  std::vector<double> values;
  for (const TrendPoint& point : points) values.push_back(point.value);
  return stats::median(values).value_or(0);
}

History read_history(RunIndex& index, const TrendOptions& options) {
  History history;
  history.runs = find_runs(index, options.runs);
  TrendReader(index, options, history).read();
  run_parallel(history.trends.size(), 0, {}, [&](std::size_t i, const std::stop_token&) {
    find_trend_changes(history.trends[i], options.changes);
  });
  FactsReader facts(index);
  for (Trend& trend : history.trends)
    for (TrendChange& change : trend.changes) explain(history, trend, change, facts);
  return history;
}

std::vector<std::string> worse_now(const History& history, double worse_by) {
  std::vector<std::string> out;
  for (const Trend& trend : history.trends) {
    if (trend.changes.empty()) continue;
    const TrendChange& last = trend.changes.back();
    const double by = std::abs(last.point.change());
    if (last.direction == Direction::worse && by > worse_by)
      out.push_back(fmt::format("{} on {}: {} is worse by {:.1f} % since {}", trend.case_name,
                                trend.machine, trend.info.name, by * 100,
                                history.runs[trend.points[last.point.at].run].run_id));
  }
  return out;
}

}  // namespace assay::history
