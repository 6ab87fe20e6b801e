#include "judge/metric_set.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "catalog/facts.h"
#include "catalog/metrics.h"
#include "core/error.h"

namespace assay::judge {

void MetricSet::add(const std::string& name, std::optional<double> value, Origin origin,
                    std::string note) {
  add_named(catalog::known_metric(name).info(), value, origin, std::move(note));
}

void MetricSet::replace(const std::string& name, double value, Origin origin, std::string note) {
  std::erase_if(metrics_, [&](const Metric& metric) { return metric.info.name == name; });
  add(name, value, origin, std::move(note));
}

void MetricSet::add_named(MetricInfo info, std::optional<double> value, Origin origin,
                          std::string note) {
  if (!value || !std::isfinite(*value) || find(info.name) != nullptr) return;
  metrics_.push_back({std::move(info), *value, origin, std::move(note)});
}

void MetricSet::set_interval(const std::string& name, double low, double high) {
  const auto at = std::ranges::find(
      metrics_, name, [](const Metric& m) -> const std::string& { return m.info.name; });
  if (at == metrics_.end() || !std::isfinite(low) || !std::isfinite(high)) return;
  at->ci95_low = low * at->value;
  at->ci95_high = high * at->value;
}

std::optional<double> MetricSet::get(const std::string& name) const {
  const Metric* metric = find(name);
  return metric == nullptr ? std::nullopt : std::optional(metric->value);
}

const Metric* MetricSet::find(const std::string& name) const {
  const auto at = std::ranges::find(
      metrics_, name, [](const Metric& m) -> const std::string& { return m.info.name; });
  return at == metrics_.end() ? nullptr : &*at;
}

std::vector<Metric> MetricSet::take() {
  const auto known = catalog::known_metrics();
  std::vector<Metric> out(std::make_move_iterator(metrics_.begin()),
                          std::make_move_iterator(metrics_.end()));
  metrics_.clear();
  std::ranges::stable_sort(out, {}, [&](const Metric& metric) {
    const catalog::KnownMetric* found = catalog::find_known_metric(metric.info.name);
    return found == nullptr || found->by_workload ? known.size()
                                                  : static_cast<std::size_t>(found - known.data());
  });
  return out;
}

Series make_series(std::string_view name, std::string label) {
  const catalog::KnownSeries* known = catalog::find_known_series(name);
  if (known == nullptr)
    throw Error(ErrorKind::internal, "no series is named '" + std::string(name) + "'",
                "catalog/metrics.cpp", "describe it there");
  return {std::string(name), std::move(label), std::string(known->unit), {}};
}

void state(Facts& facts, const std::string& name, double value, std::string detail) {
  if (catalog::find_fact(name) == nullptr && catalog::find_known_metric(name) == nullptr)
    throw Error(ErrorKind::internal, "no fact is named '" + name + "'", "catalog/facts.cpp",
                "describe it there");
  facts[name] = {value, std::move(detail)};
}

}  // namespace assay::judge
