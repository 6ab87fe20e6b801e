#include "judge/power.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"
#include "telemetry/power.h"

namespace assay::judge {

namespace {

using stats::Sample;
using telemetry::Column;
using telemetry::SourceKind;

constexpr double kMinCoverage = 0.9;

// A counter that falls was reset (driver reload, wrap): it continues from its last value.
void unwrap(std::vector<Sample>& counter) {
  double lost = 0;
  double last = 0;
  for (Sample& sample : counter) {
    const double raw = sample.value;
    if (&sample != counter.data() && raw < last) lost += last;
    last = raw;
    sample.value = raw + lost;
  }
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

NodePower node_power(const std::vector<SourceRows>& sources) {
  NodePower result;
  const auto read = [](const SourceRows& rows) {
    PowerSource source{rows.name, rows.column(Column::power_w), rows.column(Column::energy_j)};
    unwrap(source.energy);
    if (source.power.empty()) source.power = power_from_energy(source.energy);
    return source;
  };
  std::vector<PowerSource> known;
  bool whole = false;
  for (const SourceRows& rows : sources) {
    PowerSource source = read(rows);
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

Energy energy_of(const NodePower& node, const Window& window, double slack) {
  Energy result;
  if (node.sources.empty() || window.length() <= 0) return result;
  const auto coverage = [&](const std::vector<Sample>& series) {
    if (series.empty()) return 0.0;
    const double from = std::max(window.start, series.front().t - slack);
    const double to = std::min(window.end, series.back().t + slack);
    return std::max(0.0, to - from) / window.length();
  };
  // Counters are used only where they span the window: they cannot be extended beyond it.
  result.counters = std::ranges::all_of(node.sources, [&](const PowerSource& source) {
    return source.energy.size() >= 2 && stats::covered(source.energy, window.start, window.end) >=
                                            kMinCoverage * window.length();
  });
  result.coverage = 1;
  double sum = 0;
  for (const PowerSource& source : node.sources) {
    if (result.counters) {
      const double from = std::max(window.start, source.energy.front().t);
      const double to = std::min(window.end, source.energy.back().t);
      const auto low = stats::value_at(source.energy, from);
      const auto high = stats::value_at(source.energy, to);
      if (!low || !high || to <= from) return {};
      // The uncovered rest (at most a tenth) counts with the mean power of the covered part.
      sum += (*high - *low) * window.length() / (to - from);
      result.coverage = std::min(result.coverage, (to - from) / window.length());
      continue;
    }
    const double part = coverage(source.power);
    result.coverage = std::min(result.coverage, part);
    const auto joules = stats::integrate(source.power, window.start, window.end);
    if (!joules || part < kMinCoverage) return {std::nullopt, false, result.coverage};
    sum += *joules;
  }
  if (std::isfinite(sum)) result.joules = sum;
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
