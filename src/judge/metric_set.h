#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/result.h"

namespace assay::judge {

/// The metrics of one round while they are computed. Values that are not finite are never added.
class MetricSet {
 public:
  /// `name` is one of catalog::known_metrics(): another one is a defect, and throws Error of kind
  /// internal. The first value of a name stays.
  void add(const std::string& name, std::optional<double> value, Origin origin = Origin::measured,
           std::string note = {});
  /// Another value for one that was added, or the first. Its interval goes.
  void replace(const std::string& name, double value, Origin origin, std::string note);
  /// A metric that the workload or the suite has named: a quality, a rate, an output metric.
  void add_named(MetricInfo info, std::optional<double> value, Origin origin,
                 std::string note = {});
  /// The confidence interval over the round's steps of a metric that was added: from `low` to
  /// `high` times its value.
  void set_interval(const std::string& name, double low, double high);
  [[nodiscard]] std::optional<double> get(const std::string& name) const;
  /// Stays valid while others are added; nullptr when there is none.
  [[nodiscard]] const Metric* find(const std::string& name) const;
  /// All metrics, in the order of the catalog; those of the workload follow in the order in which
  /// they were added.
  [[nodiscard]] std::vector<Metric> take();

 private:
  std::list<Metric> metrics_;  // not a vector: what find() gave stays where it is
};

/// An empty series of catalog::known_series(); another name throws Error of kind internal.
[[nodiscard]] Series make_series(std::string_view name, std::string label);

/// A number that rules check, with its ranks or nodes.
struct Fact {
  double value = 0;
  std::string detail;  ///< "ranks 3, 7–12 on node1"
};
using Facts = std::map<std::string, Fact>;

/// Adds a fact of catalog::known_facts(), or names those that a known metric refers to; any other
/// name throws Error of kind internal.
void state(Facts& facts, const std::string& name, double value, std::string detail = {});

}  // namespace assay::judge
