#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "judge/resources.h"

namespace assay::judge {

namespace {

using stats::Sample;

constexpr double kMinBaseline_s = 2;
// Sensors average over up to a second: in a shorter window, a step in power would show.
constexpr double kMinCompared_s = 30;
constexpr double kMinComparedIntervals = 20;

double slack_of(const RoundContext& round) {
  return 1.5 * round.evidence.telemetry_interval_s;
}

/// Energy of all nodes; nothing unless every source of every node covers the window.
struct TotalEnergy {
  std::optional<double> joules = 0;
  std::size_t counters = 0;
  std::size_t integrals = 0;
  double coverage = 1;    ///< of the least covered node
  std::string lacking{};  ///< that node's sources, if it covers too little

  [[nodiscard]] std::string how() const {
    if (counters == 0) return "integrated power";
    return integrals == 0 ? "energy counters" : "energy counters and integrated power";
  }
};

TotalEnergy total_energy(const std::vector<NodePower>& nodes, const Window& window, double slack) {
  TotalEnergy total;
  for (const NodePower& node : nodes) {
    const Energy energy = energy_of(node, window, slack);
    if (!energy.joules) return {std::nullopt, 0, 0, energy.coverage, node.what};
    *total.joules += *energy.joules;
    total.counters += energy.counters;
    total.integrals += energy.integrals;
  }
  return total;
}

// The nodes' power before training begins, if that lasted long enough.
std::optional<double> idle_baseline(const RoundContext& round,
                                    const std::vector<NodePower>& nodes) {
  double baseline = 0;
  for (const NodePower& node : nodes) {
    double begin = -1e300;
    for (const PowerSource& source : node.sources)
      begin = std::max(begin, source.power.empty() ? 1e300 : source.power.front().t);
    const Window before{begin, round.train->start};
    if (before.length() < std::max(kMinBaseline_s, 2 * round.evidence.telemetry_interval_s))
      return std::nullopt;
    const Energy energy = energy_of(node, before, 0);
    if (!energy.joules) return std::nullopt;
    baseline += *energy.joules / before.length();
  }
  return baseline;
}

// The lowest power of the nodes before training began: the nearest to idle, since loading and
// compiling take power too.
double least_power(const RoundContext& round, const std::vector<NodePower>& nodes) {
  double least = 0;
  for (const NodePower& node : nodes) {
    double begin = -1e300;
    for (const PowerSource& source : node.sources) begin = std::max(begin, source.power.front().t);
    const std::vector<Sample> sum =
        power_sum(node, power_moments({node}, {begin, round.train->start}));
    least += std::ranges::min_element(sum, {}, &Sample::value)->value;
  }
  return least;
}

// Mean power during the steady steps without the evaluations between them; nothing unless telemetry
// covers them.
std::optional<double> steady_power(const RoundContext& round, const std::vector<NodePower>& nodes) {
  if (!round.steady) return std::nullopt;
  double joules = 0;
  double seconds = 0;
  double from = round.steady->start;
  const auto add = [&](double to) {
    const Window part{from, std::min(to, round.steady->end)};
    if (part.length() <= 0) return true;
    const TotalEnergy energy = total_energy(nodes, part, slack_of(round));
    joules += energy.joules.value_or(0);
    seconds += part.length();
    return energy.joules.has_value();
  };
  for (const EvaluationResult& evaluation : round.result.evaluations) {
    if (!add(evaluation.start_s)) return std::nullopt;
    from = std::max(from, evaluation.end_s);
  }
  if (!add(round.steady->end) || seconds <= 0) return std::nullopt;
  return joules / seconds;
}

// Adds energy per sample, per step and per target.
void add_energy_of_work(RoundContext& round, const std::vector<NodePower>& nodes, double joules) {
  const std::optional<double> power = steady_power(round, nodes);
  const Metric* rate = round.metrics.find("steady_throughput");
  const Metric* tokens = round.metrics.find("steady_tokens_per_s");
  const Metric* step = round.metrics.find("steady_step_time");
  round.metrics.add("steady_power_w", power, Origin::measured, "without evaluations");
  if (power && rate != nullptr && rate->value > 0)
    round.metrics.add("energy_per_sample_j", *power / rate->value, rate->origin,
                      "steady_power_w / steady_throughput");
  if (power && tokens != nullptr && tokens->value > 0)
    round.metrics.add("energy_per_token_j", *power / tokens->value, tokens->origin,
                      "steady_power_w / steady_tokens_per_s");
  if (power && step != nullptr)
    round.metrics.add("energy_per_step_j", *power * step->value, step->origin,
                      "steady_power_w * steady_step_time");
  // add() keeps the first value of a name.
  const auto per = [&](const std::string& name, const std::string& count) {
    if (const Metric* metric = round.metrics.find(count); metric != nullptr && metric->value > 0)
      round.metrics.add(name, joules / metric->value, metric->origin,
                        "of the whole training: no steady steps that telemetry covers");
  };
  per("energy_per_sample_j", "samples");
  per("energy_per_token_j", "tokens");
  per("energy_per_step_j", "steps");
  const Metric* time = round.metrics.find("time_to_target");
  if (time == nullptr || time->value <= 0) return;
  const Window until{round.train->start, round.train->start + time->value};
  round.metrics.add("energy_to_target_j", total_energy(nodes, until, slack_of(round)).joules,
                    time->origin, time->note);
}

bool long_enough_to_compare(const RoundContext& round, const Window& window) {
  return window.length() >=
         std::max(kMinCompared_s, kMinComparedIntervals * round.evidence.telemetry_interval_s);
}

// Adds both energies of devices that have a counter and report power, and the difference between
// them. It does not matter whether they are part of the nodes' power.
void compare_counters(RoundContext& round, const Sources& sources) {
  const double slack = slack_of(round);
  // Steady power has no steps that a slow sensor would show late.
  const bool steady = round.steady && long_enough_to_compare(round, *round.steady);
  const Window& window = steady ? *round.steady : *round.train;
  double counter = 0;
  double integral = 0;
  std::size_t compared = 0;
  std::size_t breaks = 0;
  std::optional<double> worst;
  std::string where;
  for (std::size_t n = 0; n < sources.size(); ++n)
    for (const SourceRows& rows : sources[n]) {
      if (!rows.is_device() || rows.column(telemetry::Column::power_w).empty()) continue;
      const PowerSource source = power_source(rows);
      const SourceEnergy whole = energy_of(source, *round.train, slack);
      if (!whole.counter || !whole.integral) continue;
      ++compared;
      counter += *whole.counter;
      integral += *whole.integral;
      breaks += static_cast<std::size_t>(std::ranges::count_if(source.breaks, [&](double t) {
        return t >= round.train->start && t <= round.train->end;
      }));
      const SourceEnergy energy = energy_of(source, window, slack);
      if (!energy.counter || !energy.integral) continue;
      const double apart = *energy.counter > 0    ? std::abs(*energy.integral / *energy.counter - 1)
                           : *energy.integral > 0 ? 1
                                                  : 0;
      if (worst && apart <= *worst) continue;
      worst = apart;
      where = fmt::format("{} on {}: {} J by its counter, {} J by its power", rows.name,
                          node_label(round, round.evidence.nodes[n]),
                          format_number(*energy.counter), format_number(*energy.integral));
    }
  if (compared == 0) return;
  const std::string note =
      counted(compared, "device") +
      (breaks == 0 ? ""
                   : fmt::format("; {} of a counter bridged by power", counted(breaks, "restart")));
  round.metrics.add("energy_counter_j", counter, Origin::measured, note);
  round.metrics.add("energy_integral_j", integral, Origin::measured, note);
  if (worst && long_enough_to_compare(round, window))
    round.fact("energy_disagreement", *worst,
               where + (steady ? " in the steady steps" : " in the training"));
}

void add_peak_power(RoundContext& round, const std::vector<NodePower>& nodes) {
  const std::vector<double> moments = power_moments(nodes, *round.train);
  std::vector<double> total(moments.size(), 0.0);
  for (const NodePower& node : nodes) {
    const std::vector<Sample> sum = power_sum(node, moments);
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += sum[i].value;
  }
  round.metrics.add("max_power_w", *std::ranges::max_element(total));
}

}  // namespace

void compute_energy(RoundContext& round, const Sources& sources) {
  const RoundEvidence& evidence = round.evidence;
  std::vector<NodePower> nodes;
  for (const auto& node : sources) nodes.push_back(node_power(node));
  for (std::size_t i = 0; i < std::min(nodes.size(), kSeriesNodes); ++i) {
    if (nodes[i].sources.empty() || !round.alive) continue;
    add_series(round, "power", node_label(round, evidence.nodes[i]),
               power_sum(nodes[i], power_moments({nodes[i]}, *round.alive)));
  }
  if (!round.train || round.train->length() <= 0) return;
  compare_counters(round, sources);
  const bool all = !nodes.empty() && std::ranges::none_of(nodes, [](const NodePower& node) {
    return node.sources.empty();
  });
  if (!all) return;

  const TotalEnergy energy = total_energy(nodes, *round.train, slack_of(round));
  if (!energy.joules) {
    round.fact("energy_coverage", energy.coverage,
               fmt::format("telemetry of {} covers {:.0f} % of the training", energy.lacking,
                           energy.coverage * 100));
    return;
  }
  round.fact("energy_coverage", 1);

  const double joules = *energy.joules;
  const std::optional<double> baseline = idle_baseline(round, nodes);
  std::set<std::string> kinds;
  for (const NodePower& node : nodes) kinds.insert(node.what);
  const std::vector<std::string> what(kinds.begin(), kinds.end());
  const std::string note =
      fmt::format("{} of {}; idle baseline {}", energy.how(), join(what, ", "),
                  baseline ? fmt::format("{} W, not subtracted", format_number(*baseline))
                           : std::string("unknown: too little time before training"));
  round.metrics.add("energy_j", joules, Origin::measured, note);
  round.metrics.add("energy_idle_baseline_w", baseline, Origin::measured,
                    "mean power between the first sample and TRAIN_START");
  if (baseline) {
    const double least = least_power(round, nodes);
    round.metrics.add("energy_above_idle_j", std::max(0.0, joules - least * round.train->length()),
                      Origin::measured,
                      fmt::format("above {} W, the least before training", format_number(least)));
  }
  round.metrics.add("mean_power_w", joules / round.train->length());
  if (const auto samples = round.metrics.get("samples"); samples && joules > 0)
    round.metrics.add("samples_per_joule", *samples / joules,
                      round.metrics.find("samples")->origin);
  add_energy_of_work(round, nodes, joules);
  add_peak_power(round, nodes);
}

}  // namespace assay::judge
