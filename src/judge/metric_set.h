#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/result.h"

namespace assay::judge {

/// The metrics of one round while they are computed. What is not finite never gets in.
class MetricSet {
 public:
  /// `name` is one of metric_catalogue(); the first value of a name stays.
  void add(const std::string& name, std::optional<double> value, std::string origin = "measured",
           std::string note = {});
  /// A metric that describes itself (a quality, an output metric of the plan).
  void add(MetricInfo info, std::optional<double> value, std::string origin, std::string note = {});
  [[nodiscard]] std::optional<double> get(const std::string& name) const;
  [[nodiscard]] const Metric* find(const std::string& name) const;
  /// In the order of the catalogue; those that describe themselves come after, as they were added.
  [[nodiscard]] std::vector<Metric> take();

 private:
  std::vector<Metric> metrics_;
};

/// A number that rules look at, and who is meant by it.
struct Fact {
  double value = 0;
  std::string detail;  ///< "ranks 3, 7–12 on node1"
};
using Facts = std::map<std::string, Fact>;

}  // namespace assay::judge
