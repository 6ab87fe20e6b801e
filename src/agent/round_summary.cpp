#include "agent/round_summary.h"

#include <algorithm>

#include <unistd.h>

#include "core/process_tree.h"

namespace assay::agent {

Heartbeat heartbeat_of(const std::vector<std::unique_ptr<RankProcess>>& ranks,
                       const telemetry::Recorder* recorder, const Instant& at) {
  Heartbeat beat;
  beat.ranks = static_cast<int>(ranks.size());
  beat.idle_s = 1e18;
  beat.at = at;
  const RankProcess* suspect = nullptr;
  for (const auto& rank : ranks) {
    const double idle = rank->idle_s(beat.at.mono_ns);
    if (rank->running()) {
      ++beat.running;
      beat.idle_s = std::min(beat.idle_s, idle);
      if (suspect == nullptr || idle > suspect->idle_s(beat.at.mono_ns)) suspect = rank.get();
    }
    if (rank->progress().steps() == 0) continue;
    const std::int64_t step = rank->progress().last_step().value_or(0);
    beat.step_min = std::min(beat.step_min.value_or(step), step);
    beat.step_max = std::max(beat.step_max.value_or(step), step);
    if (!beat.loss) beat.loss = rank->progress().last_loss();
  }
  if (suspect != nullptr && suspect->idle_s(beat.at.mono_ns) > 1)
    beat.suspect = {suspect->rank(), suspect->idle_s(beat.at.mono_ns),
                    std::string(1, process_state(suspect->pid()))};
  if (recorder != nullptr) {
    const telemetry::Snapshot snapshot = recorder->latest();
    beat.cpu_util = snapshot.cpu_util;
    if (beat.cpu_util)
      beat.busy_cpus = *beat.cpu_util * static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
    beat.mem_used_bytes = snapshot.mem_used_bytes;
    beat.power_w = snapshot.power_w;
    beat.device_util = snapshot.device_util;
  }
  return beat;
}

RoundMetrics metrics_of(const std::vector<std::unique_ptr<RankProcess>>& ranks,
                        const telemetry::Recorder* recorder, std::int64_t mono_ns) {
  RoundMetrics out;
  for (const auto& rank : ranks) {
    using State = RankMetrics::State;
    const perflog::ProgressScanner& progress = rank->progress();
    RankMetrics& to = out.ranks.emplace_back();
    to.rank = rank->rank();
    if (rank->exit())
      to.state = rank->exit()->ok() ? State::succeeded : State::failed;
    else if (rank->running())
      to.state = State::running;
    to.steps = progress.steps();
    to.epochs = progress.epochs();
    to.trials = progress.trials();
    to.output_bytes = rank->log().received_bytes();
    to.idle_s = rank->idle_s(mono_ns);
    to.step = progress.last_step();
    to.samples = progress.samples();
    to.loss = progress.last_loss();
    to.accuracy = progress.last_accuracy();
    to.best_accuracy = progress.best_accuracy();
    out.automl = out.automl || to.trials > 0;
  }
  if (recorder == nullptr) return out;
  out.power_w = recorder->latest().power_w;
  recorder->visit_rows([&](std::string_view source, const auto& values) {
    out.sources.push_back({std::string(source), values});
  });
  return out;
}

}  // namespace assay::agent
