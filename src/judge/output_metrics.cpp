#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/text.h"
#include "judge/rank_log.h"
#include "judge/round_context.h"

namespace assay::judge {

namespace {

// The ranks whose output counts for a metric, and their values.
struct RankOutputs {
  std::vector<const RankEvidence*> ranks;
  std::vector<double> values;
};

RankOutputs outputs_of(const RoundContext& round, std::size_t i) {
  const plan::OutputMetric& metric = round.plan.metrics[i];
  RankOutputs out;
  for (const RankEvidence& rank : round.evidence.ranks) {
    if (i >= rank.log.outputs.size() || (metric.across == "rank0" && rank.rank != 0)) continue;
    const auto value = rank.log.outputs[i].reduced(metric.reduce);
    if (!value) continue;
    out.ranks.push_back(&rank);
    out.values.push_back(*value);
  }
  return out;
}

std::string how_reduced(const RoundContext& round, std::size_t i, const RankOutputs& outputs) {
  const plan::OutputMetric& metric = round.plan.metrics[i];
  if (outputs.ranks.size() > 1)
    return fmt::format(
        "{} of each rank's matches, {} over {}", metric.reduce, metric.across,
        outputs.ranks.size() == round.evidence.ranks.size()
            ? counted(outputs.ranks.size(), "rank")
            : fmt::format("{} of {} ranks", outputs.ranks.size(), round.evidence.ranks.size()));
  if (outputs.ranks.empty()) return {};
  const OutputValues& values = outputs.ranks.front()->log.outputs[i];
  std::string note = values.count() == 1
                         ? "the only match"
                         : fmt::format("{} of {} matches", metric.reduce, values.count());
  if (metric.reduce == "last" && values.last_step() != kNoTime)
    note += fmt::format(", at step {}", values.last_step());
  return note;
}

// Values over time, from the first rank whose log has times beside the matches.
void add_output_series(RoundContext& round, std::size_t i) {
  const plan::OutputMetric& metric = round.plan.metrics[i];
  for (const RankEvidence& rank : round.evidence.ranks) {
    if (i >= rank.log.outputs.size()) continue;
    const RankClock clock = round.timeline.clock(rank);
    Series series{metric.name, fmt::format("rank {}, as printed", rank.rank), metric.unit, {}};
    for (const OutputPoint& point : rank.log.outputs[i].points())
      if (const auto t = clock.at(point.at)) series.points.push_back({*t, point.value});
    if (series.points.size() < 2) continue;
    round.result.series.push_back(std::move(series));
    return;
  }
}

// Only the printed number is known of such a command; nothing in it tells how long it measured.
void note_short_command(RoundContext& round) {
  double longest_s = 0;
  bool known = false;
  for (const RankEvidence& rank : round.evidence.ranks) {
    if (rank.log.events > 0) return;
    if (!rank.start || !rank.end) continue;
    known = true;
    longest_s = std::max(longest_s, static_cast<double>(rank.end->mono_ns - rank.start->mono_ns));
  }
  if (known) round.fact("command_time", longest_s * 1e-9);
}

}  // namespace

void compute_outputs(RoundContext& round) {
  std::vector<std::string> missing;
  std::vector<std::string> hidden;
  std::vector<std::string> cut;
  std::vector<std::string> held;
  std::set<int> held_ranks;
  std::uint64_t unreadable = 0;
  std::string first_unreadable;
  for (std::size_t i = 0; i < round.plan.metrics.size(); ++i) {
    const plan::OutputMetric& metric = round.plan.metrics[i];
    const RankOutputs outputs = outputs_of(round, i);
    const auto value =
        reduce(metric.across == "rank0" ? "last" : std::string_view(metric.across), outputs.values);
    const auto counts = [&](const RankEvidence& rank) {
      return i < rank.log.outputs.size() && (metric.across != "rank0" || rank.rank == 0);
    };
    // A match that is not a number has its own finding.
    if (!value && std::ranges::none_of(round.evidence.ranks, [&](const RankEvidence& rank) {
          return counts(rank) && rank.log.outputs[i].unreadable() > 0;
        }))
      missing.push_back(metric.name);
    if (std::ranges::any_of(round.evidence.ranks, [&](const RankEvidence& rank) {
          return counts(rank) && rank.dropped_bytes > 0;
        }))
      cut.push_back(metric.name);
    bool is_held = false;
    for (const RankEvidence& rank : round.evidence.ranks) {
      if (!counts(rank) || !rank.output_held) continue;
      is_held = true;
      held_ranks.insert(rank.rank);
    }
    if (is_held) held.push_back(metric.name);
    const auto measured = round.metrics.get(metric.name);
    if (value && measured && *measured != *value) hidden.push_back(metric.name);
    round.metrics.add_named(
        {metric.name, metric.unit, metric.better, "from output: " + metric.pattern}, value,
        Origin::reported, how_reduced(round, i, outputs));
    add_output_series(round, i);
    for (const RankEvidence& rank : round.evidence.ranks) {
      if (i >= rank.log.outputs.size() || rank.log.outputs[i].unreadable() == 0) continue;
      const OutputValues& values = rank.log.outputs[i];
      if (unreadable == 0)
        first_unreadable = fmt::format("{}: '{}' at {}:{}", metric.name, values.first_unreadable(),
                                       rank.log_path, values.first_unreadable_line());
      unreadable += values.unreadable();
    }
  }
  if (round.plan.metrics.empty()) return;
  round.fact("output_metrics_missing", static_cast<double>(missing.size()), join(missing, ", "));
  round.fact("output_metrics_cut", static_cast<double>(cut.size()), join(cut, ", "));
  round.fact("output_metrics_held", static_cast<double>(held.size()),
             held.empty()
                 ? ""
                 : join(held, ", ") + ", of " + rank_list({held_ranks.begin(), held_ranks.end()}));
  note_short_command(round);
  round.fact("output_unreadable", static_cast<double>(unreadable), first_unreadable);
  round.fact("output_metrics_hidden", static_cast<double>(hidden.size()), join(hidden, ", "));
}

}  // namespace assay::judge
