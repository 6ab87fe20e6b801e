#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/result.h"

namespace assay::judge {

/// The metrics of one round during their computation. It never holds a value that is not finite.
class MetricSet {
 public:
  /// `name` must be one of catalog::known_metrics(); any other is a defect and throws Error of kind
  /// internal. The first value of a name stays.
  void add(const std::string& name, std::optional<double> value, Origin origin = Origin::measured,
           std::string note = {});
  /// Replaces an earlier value, or adds the first one; drops its interval.
  void replace(const std::string& name, double value, Origin origin, std::string note);
  /// Adds a metric that the workload or the suite names: a quality, a rate, an output metric.
  void add_named(MetricInfo info, std::optional<double> value, Origin origin,
                 std::string note = {});
  /// Sets an added metric's confidence interval over the round's steps, from `low` to `high` times
  /// its value.
  void set_interval(const std::string& name, double low, double high);
  [[nodiscard]] std::optional<double> get(const std::string& name) const;
  /// Returns nullptr if there is none. The pointer stays valid while others are added.
  [[nodiscard]] const Metric* find(const std::string& name) const;
  /// All metrics in catalog order, followed by the workload's in the order of addition.
  [[nodiscard]] std::vector<Metric> take();

 private:
  std::list<Metric> metrics_;  // a list keeps the pointers from find() valid
};

/// An empty series of catalog::known_series(); any other name throws Error of kind internal.
[[nodiscard]] Series make_series(std::string_view name, std::string label);

/// A number for rules to check, and the ranks or nodes it refers to.
struct Fact {
  double value = 0;
  std::string detail;  ///< "ranks 3, 7–12 on node1"
};
using Facts = std::map<std::string, Fact>;

/// Adds a fact of catalog::known_facts(), or names what a known metric refers to; any other name
/// throws Error of kind internal.
void state(Facts& facts, const std::string& name, double value, std::string detail = {});

}  // namespace assay::judge
