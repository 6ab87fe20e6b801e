#include "compare/change_bounds.h"

#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay::compare {

namespace {

constexpr double kMaxPercent = 1e6;

bool beyond(const stats::Interval& interval, Better better, double worse_by) {
  return better == Better::higher ? interval.high < -worse_by : interval.low > worse_by;
}

/// Includes changes that count as the same because the tolerance, or a baseline's range, is wider
/// than the bound: the user's bound is stricter.
bool certainly_beyond(const MetricChange& metric, double worse_by) {
  if (metric.verdict != Verdict::same || metric.info.better == Better::neither) return false;
  return beyond(*metric.level.interval, metric.info.better, worse_by) &&
         (!metric.steps || beyond(*metric.steps, metric.info.better, worse_by));
}

class Check {
 public:
  Check(const Comparisons& comparison, std::size_t side)
      : side_(side), of_(comparison.sides[side]) {
    several_ = comparison.sides.size() > 1;
  }

  void cases() {
    for (const CaseChange& change : of_.cases)
      if (!change.refused.empty() && !change.only_new && !change.not_meant)
        add(change.name, "", "is not compared: " + change.refused);
  }

  void bound(const Bound& bound) {
    bool found = false;
    for (const CaseChange& change : of_.cases) {
      for (const MetricChange& metric : change.metrics) {
        if (!is_named(metric.info.name, bound.metric) &&
            !(bound.metric == "headline" && metric.headline))
          continue;
        found = true;
        if (!metric.level.interval)
          add(change.name, metric.info.name, "cannot be checked: " + metric.note);
        else if ((metric.verdict == Verdict::worse &&
                  std::abs(metric.level.change) > bound.worse_by) ||
                 certainly_beyond(metric, bound.worse_by))
          add(change.name, metric.info.name,
              fmt::format("is worse by {:.1f} %, at most {:.3g} % are allowed",
                          std::abs(metric.level.change) * 100, bound.worse_by * 100));
      }
      for (const LeftOut& left : change.left_out) {
        if (!is_named(left.metric, bound.metric)) continue;
        found = true;
        add(change.name, left.metric, "cannot be checked: " + left.why);
      }
    }
    if (!found)
      add("", "", "no case that is compared has the metric '" + printable(bound.metric) + "'");
  }

  std::vector<Excess> out;

 private:
  void add(const std::string& case_name, const std::string& metric, const std::string& what) {
    std::string text = several_ ? of_.name + ": " : "";
    if (!case_name.empty()) text += case_name + (metric.empty() ? " " : ": ");
    if (!metric.empty()) text += metric + " ";
    out.push_back({side_, case_name, metric, text + what});
  }

  std::size_t side_;
  const Comparison& of_;
  bool several_ = false;
};

}  // namespace

Bound parse_bound(const std::string& text) {
  const auto fail = [&]() -> Error {
    return {ErrorKind::usage, "not a valid bound: '" + ellipsize(printable(text), 80) + "'",
            "--fail-on", "write METRIC: PERCENT %, as in 'throughput: 2 %'"};
  };
  const std::size_t colon = text.rfind(':');  // a workload may choose any metric name
  if (colon == std::string::npos) throw fail();
  std::string_view number = trim(std::string_view(text).substr(colon + 1));
  if (!number.ends_with('%')) throw fail();
  number = trim(number.substr(0, number.size() - 1));
  const auto percent = parse_number<double>(number, 0.0, kMaxPercent);
  const std::string_view metric = trim(std::string_view(text).substr(0, colon));
  if (metric.empty() || !percent || std::isnan(*percent)) throw fail();
  return {std::string(metric), *percent / 100};
}

std::vector<Excess> exceeded(const Comparisons& comparison, std::span<const Bound> bounds) {
  std::vector<Excess> out;
  if (bounds.empty()) return out;
  for (std::size_t side = 0; side < comparison.sides.size(); ++side) {
    Check check(comparison, side);
    check.cases();
    for (const Bound& bound : bounds) check.bound(bound);
    for (Excess& excess : check.out) out.push_back(std::move(excess));
  }
  return out;
}

}  // namespace assay::compare
