#include "judge/power.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"
#include "telemetry/source_kind.h"

namespace assay::judge {

namespace {

using stats::Sample;
using telemetry::Column;
using telemetry::SourceKind;

constexpr double kMinCoverage = 0.9;

// A power reading holds for three periods of IPMI, the slowest sensor.
constexpr double kMaxHole_s = 30;

// Returns the moments of breaks. A counter that restarts begins at 0; a garbled one does not.
std::vector<double> mend(std::vector<Sample>& counter, const std::vector<Sample>& power) {
  const double most_power_w = telemetry::bounds_of(telemetry::Quantity::power).most;
  std::vector<double> breaks;
  double last = counter.empty() ? 0 : counter.front().value;
  double mended = 0;
  if (!counter.empty()) counter.front().value = 0;
  for (std::size_t i = 1; i < counter.size(); ++i) {
    const double raw = counter[i].value;
    double step = raw - last;
    const double most = most_power_w * std::max(1.0, counter[i].t - counter[i - 1].t);
    if (step < 0 || step > most) {
      const double since_restart = step < 0 && raw <= most ? raw : 0;
      step = stats::integrate(power, counter[i - 1].t, counter[i].t).value_or(since_restart);
      breaks.push_back(counter[i].t);
    }
    last = raw;
    mended += step;
    counter[i].value = mended;
  }
  return breaks;
}

double coverage_by(const std::vector<Sample>& series, const Window& window, double slack) {
  if (series.empty()) return 0;
  double known = std::max(0.0, std::min(window.end, series.back().t + slack) -
                                   std::max(window.start, series.front().t - slack));
  const double longest = std::max(kMaxHole_s, 10 * slack);
  for (std::size_t i = 1; i < series.size(); ++i) {
    const double hole = std::min(window.end, series[i].t) - std::max(window.start, series[i - 1].t);
    if (hole > longest) known -= hole;
  }
  return std::max(0.0, known) / window.length();
}

std::vector<Sample> power_from_energy(const std::vector<Sample>& energy) {
  std::vector<Sample> power;
  for (std::size_t i = 1; i < energy.size(); ++i) {
    const double dt = energy[i].t - energy[i - 1].t;
    if (dt > 0) power.push_back({energy[i].t, (energy[i].value - energy[i - 1].value) / dt});
  }
  return power;
}

}  // namespace

std::vector<SourceRows> source_rows(const Timeline& timeline, const NodeEvidence& node) {
  std::vector<SourceRows> sources;
  std::vector<std::size_t> place(node.telemetry.sources.size(), SIZE_MAX);
  for (std::size_t i = 0; i < place.size(); ++i) {
    const std::string& name = node.telemetry.sources[i];
    const SourceKind kind = telemetry::source_kind(name);
    if (kind == SourceKind::core || kind == SourceKind::other) continue;
    place[i] = sources.size();
    sources.push_back({name, {}, {}});
  }
  for (const telemetry::Row& row : node.telemetry.rows) {
    if (row.source >= place.size() || place[row.source] == SIZE_MAX) continue;
    sources[place[row.source]].rows.push_back(&row);
  }
  for (SourceRows& source : sources) {
    std::ranges::stable_sort(source.rows, {}, [](const telemetry::Row* r) { return r->mono_ns; });
    for (const telemetry::Row* row : source.rows)
      source.t.push_back(timeline.at(node.node, {row->mono_ns, row->wall_ns}).value_or(0));
  }
  return sources;
}

std::vector<Sample> SourceRows::column(Column which) const {
  std::vector<Sample> out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double value = (*rows[i])[which];
    if (std::isfinite(value)) out.push_back({t[i], value});
  }
  return out;
}

PowerSource power_source(const SourceRows& rows) {
  PowerSource source{rows.name, rows.column(Column::power_w), rows.column(Column::energy_j)};
  source.breaks = mend(source.energy, source.power);
  if (source.power.empty()) source.power = power_from_energy(source.energy);
  return source;
}

NodePower node_power(const std::vector<SourceRows>& sources) {
  NodePower result;
  std::vector<PowerSource> known;
  bool whole = false;
  for (const SourceRows& rows : sources) {
    PowerSource source = power_source(rows);
    if (source.power.empty() && source.energy.size() < 2) continue;
    whole = whole || telemetry::source_kind(source.name) == SourceKind::whole_node;
    known.push_back(std::move(source));
  }
  std::size_t packages = 0;
  std::size_t devices = 0;
  for (PowerSource& source : known) {
    if (!telemetry::adds_up(source.name, whole)) continue;
    ++(telemetry::source_kind(source.name) == SourceKind::device ? devices : packages);
    result.sources.push_back(std::move(source));
  }
  if (whole) {
    result.what = "whole node (ipmi)";
    return result;
  }
  if (packages > 0) result.what = counted(packages, "processor package");
  if (devices > 0) result.what += (packages > 0 ? " and " : "") + counted(devices, "device");
  return result;
}

SourceEnergy energy_of(const PowerSource& source, const Window& window, double slack) {
  SourceEnergy result;
  if (window.length() <= 0) return result;
  const double by_power = coverage_by(source.power, window, slack);
  if (by_power >= kMinCoverage)
    result.integral = stats::integrate(source.power, window.start, window.end);
  if (result.integral && !std::isfinite(*result.integral)) result.integral.reset();

  // Counters are used only within the time they span and cannot be extended beyond it.
  const double spanned = stats::covered(source.energy, window.start, window.end) / window.length();
  result.coverage = std::max(by_power, spanned);
  if (source.energy.size() < 2 || spanned < kMinCoverage) return result;
  const double from = std::max(window.start, source.energy.front().t);
  const double to = std::min(window.end, source.energy.back().t);
  const auto low = stats::value_at(source.energy, from);
  const auto high = stats::value_at(source.energy, to);
  if (!low || !high || to <= from || !std::isfinite(*high - *low)) return result;
  const double counted = (*high - *low) * window.length() / (to - from);
  if (counted <= 0 && result.integral.value_or(0) > 0) return result;
  result.counter = counted;
  result.coverage = spanned;
  return result;
}

Energy energy_of(const NodePower& node, const Window& window, double slack) {
  Energy result;
  if (node.sources.empty() || window.length() <= 0) return result;
  result.coverage = 1;
  double sum = 0;
  for (const PowerSource& source : node.sources) {
    const SourceEnergy energy = energy_of(source, window, slack);
    result.coverage = std::min(result.coverage, energy.coverage);
    if (!energy.joules()) return {std::nullopt, 0, 0, result.coverage};
    ++(energy.counter ? result.counters : result.integrals);
    sum += *energy.joules();
  }
  result.joules = sum;
  return result;
}

std::vector<double> power_moments(const std::vector<NodePower>& nodes, const Window& window) {
  constexpr std::size_t kMaxMoments = 20000;
  std::vector<double> moments{window.start, window.end};
  for (const NodePower& node : nodes)
    for (const PowerSource& source : node.sources)
      for (const Sample& s : source.power)
        if (s.t > window.start && s.t < window.end) moments.push_back(s.t);
  std::ranges::sort(moments);
  const std::size_t stride = moments.size() / kMaxMoments + 1;
  if (stride == 1) return moments;
  std::vector<double> fewer;
  for (std::size_t i = 0; i < moments.size(); i += stride) fewer.push_back(moments[i]);
  return fewer;
}

std::vector<Sample> power_sum(const NodePower& node, const std::vector<double>& moments) {
  std::vector<Sample> sum(moments.size());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i].t = moments[i];
  for (const PowerSource& source : node.sources)
    for (Sample& s : sum) s.value += stats::value_at(source.power, s.t).value_or(0);
  return sum;
}

}  // namespace assay::judge
