#include "judge/resources.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "stats/descriptive.h"

namespace assay::judge {

namespace {

using stats::Sample;
using telemetry::Column;

// Time-weighted mean over the window; nothing if no samples reach into it.
std::optional<double> mean_over(const std::vector<Sample>& samples, const Window& window,
                                double slack) {
  if (samples.empty() || window.length() <= 0) return std::nullopt;
  if (samples.front().t > window.end + slack || samples.back().t < window.start - slack)
    return std::nullopt;
  const Window inside{std::max(window.start, samples.front().t),
                      std::min(window.end, samples.back().t)};
  if (inside.length() <= 0) return stats::value_at(samples, window.start);
  const auto area = stats::integrate(samples, inside.start, inside.end);
  return area ? std::optional(*area / inside.length()) : std::nullopt;
}

void compute_utilization(RoundContext& round, const Sources& sources) {
  const RoundEvidence& evidence = round.evidence;
  // Without PerfLog there is no training window, so the ranks' whole life replaces it.
  const std::optional<Window> window = round.train ? round.train : round.alive;
  const std::string note = round.train ? "" : "over the whole round: no TRAIN_START";
  const double slack = 1.5 * evidence.telemetry_interval_s;
  std::vector<double> cpu;
  std::vector<double> device;
  std::optional<double> memory_peak;
  std::optional<double> job_peak;
  std::optional<double> device_memory_peak;
  const auto raise = [](std::optional<double>& peak, const std::vector<Sample>& samples) {
    for (const Sample& s : samples) peak = std::max(peak.value_or(s.value), s.value);
  };
  for (std::size_t n = 0; n < evidence.nodes.size(); ++n) {
    const NodeEvidence& node = evidence.nodes[n];
    const bool shown = n < kSeriesNodes;
    const auto device_count =
        static_cast<std::size_t>(std::ranges::count_if(sources[n], &SourceRows::is_device));
    for (const SourceRows& source : sources[n]) {
      const bool is_node = source.name == "node";
      if (source.name == "job") {
        const auto used = source.column(Column::mem_used_bytes);
        raise(job_peak, used);
        if (shown) add_series(round, "job_memory", node_label(round, node), used);
      }
      if (!is_node && !source.is_device()) continue;
      const auto util = source.column(Column::util);
      const auto memory = source.column(Column::mem_used_bytes);
      if (window) {
        if (const auto mean = mean_over(util, *window, slack))
          (is_node ? cpu : device).push_back(*mean);
      }
      raise(is_node ? memory_peak : device_memory_peak, memory);
      if (!shown) continue;
      const std::string label = node_label(round, node);
      if (is_node) {
        add_series(round, "cpu_util", label, util);
        add_series(round, "memory", label, memory);
      } else if (device_count * std::min(evidence.nodes.size(), kSeriesNodes) <= 4 * kSeriesNodes) {
        add_series(round, "device_util", source.name + " on " + label, util);
      }
    }
  }
  round.metrics.add("device_util", stats::mean(device), Origin::measured, note);
  round.metrics.add("cpu_util", stats::mean(cpu), Origin::measured, note);
  round.metrics.add("mem_peak_bytes", memory_peak);
  round.metrics.add("job_mem_peak_bytes", job_peak);
  round.metrics.add("device_mem_peak_bytes", device_memory_peak);
}

// A training that counts its operations must have run them on some device.
void compute_device_work(RoundContext& round, const Sources& sources) {
  constexpr std::size_t kEnough = 5;
  const auto device = round.plan.config.find("device");
  const bool on_cpu = device != round.plan.config.end() && *device == "cpu";
  double flops = 0;
  for (const RankEvidence& rank : round.evidence.ranks) flops += rank.log.flops.sum;
  if (!round.train || on_cpu || flops <= 0) return;
  std::optional<double> busiest;
  std::size_t fewest = 0;
  for (const auto& node : sources)
    for (const SourceRows& source : node) {
      if (!source.is_device()) continue;
      std::size_t rows = 0;
      for (const Sample& sample : source.column(Column::util)) {
        if (sample.t < round.train->start || sample.t > round.train->end) continue;
        ++rows;
        busiest = std::max(busiest.value_or(0), sample.value);
      }
      if (rows > 0) fewest = fewest == 0 ? rows : std::min(fewest, rows);
    }
  if (busiest && fewest >= kEnough)
    round.fact("busiest_device_util", *busiest, fmt::format("in {} samples", fewest));
}

void compute_device_health(RoundContext& round, const Sources& sources) {
  const RoundEvidence& evidence = round.evidence;
  const std::optional<Window> window = round.train ? round.train : round.alive;
  const double longest = 2.5 * evidence.telemetry_interval_s;
  bool throttle_known = false;
  bool ecc_known = false;
  double throttled_s = 0;
  double ecc_errors = 0;
  std::vector<std::string> throttled;
  std::vector<std::string> failing;
  for (std::size_t n = 0; n < evidence.nodes.size(); ++n) {
    for (const SourceRows& source : sources[n]) {
      if (!source.is_device()) continue;
      const std::string who =
          fmt::format("{} on {}", source.name, node_label(round, evidence.nodes[n]));
      const auto throttle = source.column(Column::throttle);
      throttle_known = throttle_known || !throttle.empty();
      double slowed = 0;
      for (std::size_t k = 0; window && k < throttle.size(); ++k) {
        if (throttle[k].value < 0.5) continue;
        // A sample holds until the next one, but not across a gap.
        double until = throttle[k].t + evidence.telemetry_interval_s;
        if (k + 1 < throttle.size()) until = std::min(throttle[k + 1].t, throttle[k].t + longest);
        slowed +=
            std::max(0.0, std::min(until, window->end) - std::max(throttle[k].t, window->start));
      }
      if (slowed > 0) throttled.push_back(who);
      throttled_s += slowed;
      const auto errors = source.column(Column::ecc_errors);
      ecc_known = ecc_known || !errors.empty();
      double increase = 0;
      for (std::size_t k = 1; k < errors.size(); ++k)
        increase += std::max(0.0, errors[k].value - errors[k - 1].value);
      if (increase > 0) failing.push_back(who);
      ecc_errors += increase;
    }
  }
  const auto list = [](std::vector<std::string> names) {
    constexpr std::size_t kShown = 4;
    const std::size_t more = names.size() > kShown ? names.size() - kShown : 0;
    names.resize(std::min(names.size(), kShown));
    return join(names, ", ") + (more > 0 ? fmt::format(" and {} more", more) : "");
  };
  if (throttle_known) round.fact("throttled_s", throttled_s, list(throttled));
  if (ecc_known) round.fact("ecc_errors", ecc_errors, list(failing));
}

void note_impossible(RoundContext& round) {
  std::uint64_t count = 0;
  std::string first;
  for (const NodeEvidence& node : round.evidence.nodes) {
    const telemetry::Table& table = node.telemetry;
    if (count == 0 && table.impossible_values > 0)
      first = node_label(round, node) + ": " + table.first_impossible;
    count += table.impossible_values;
  }
  round.fact("telemetry_impossible", static_cast<double>(count), first);
}

void compute_gaps(RoundContext& round, const Sources& sources) {
  const RoundEvidence& evidence = round.evidence;
  if (!evidence.telemetry_enabled || !round.alive) return;
  double largest = 0;
  double rows = 0;
  std::string where;
  for (std::size_t n = 0; n < evidence.nodes.size(); ++n) {
    const NodeEvidence& node = evidence.nodes[n];
    const auto own = std::ranges::find(sources[n], std::string("node"), &SourceRows::name);
    const std::vector<double> times = own == sources[n].end() ? std::vector<double>() : own->t;
    rows += static_cast<double>(times.size());
    double last = round.alive->start;
    // The time that it was away is no gap: what it left says so itself.
    std::vector<double> back;
    for (const Instant& row : node.came_back)
      if (const auto t = round.timeline.at(node.node, row)) back.push_back(*t);
    const auto look = [&](double t) {
      if (t <= round.alive->start) return;
      if (std::ranges::any_of(back, [&](double b) { return b > last && b <= t + 1e-6; })) {
        last = std::max(last, t);
        return;
      }
      const double hole = std::min(t, round.alive->end) - last - evidence.telemetry_interval_s;
      if (hole > largest) {
        largest = hole;
        where = fmt::format("on {}, from second {:.1f} to {:.1f}", node_label(round, node), last,
                            std::min(t, round.alive->end));
      }
      last = std::max(last, std::min(t, round.alive->end));
    };
    for (const double t : times) look(t);
    if (!node.away) look(round.alive->end);
  }
  for (const GapEvidence& gap : evidence.gaps) {
    if (gap.source != "node" || gap.seconds <= largest) continue;
    largest = gap.seconds;
    where = fmt::format("on node {}: {}", gap.node, gap.reason);
  }
  note_impossible(round);
  round.fact("telemetry_rows", rows);
  round.fact("telemetry_gap_max_s", largest, where);
}

}  // namespace

std::string node_label(const RoundContext& round, const NodeEvidence& node) {
  return round.evidence.nodes.size() == 1 || node.host.empty()
             ? fmt::format("node {}", node.node)
             : fmt::format("node {} ({})", node.node, node.host);
}

void add_series(RoundContext& round, std::string_view name, std::string label,
                const std::vector<Sample>& samples) {
  if (samples.empty()) return;
  Series series = make_series(name, std::move(label));
  for (const Sample& s : stats::thin(samples, kSeriesPoints))
    series.points.push_back({s.t, s.value});
  round.result.series.push_back(std::move(series));
}

void compute_resources(RoundContext& round) {
  Sources sources;
  for (const NodeEvidence& node : round.evidence.nodes)
    sources.push_back(source_rows(round.timeline, node));
  compute_energy(round, sources);
  compute_utilization(round, sources);
  compute_clocks(round, sources);
  compute_device_work(round, sources);
  compute_device_health(round, sources);
  compute_gaps(round, sources);
  double cpu = 0;
  double agents = 0;
  for (const NodeEvidence& node : round.evidence.nodes) {
    if (!node.agent_cpu_s) continue;
    cpu += *node.agent_cpu_s;
    ++agents;
  }
  const auto e2e = round.metrics.get("e2e_time");
  if (agents > 0 && e2e && *e2e > 0)
    round.metrics.add("harness_overhead", cpu / agents / *e2e, Origin::measured,
                      agents > 1 ? "mean over the agents" : "");
}

}  // namespace assay::judge
