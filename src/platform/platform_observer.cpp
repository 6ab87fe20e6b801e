// What the devices of jobs do and did, and what is left of jobs that were removed.

#include <algorithm>
#include <exception>

#include "core/processors.h"
#include "core/time.h"
#include "engine/execution_folder.h"
#include "platform/device_activity.h"
#include "platform/platform_state.h"

namespace assay::platform {

// Of what type the devices were is the engine's knowledge, and what they did is in the run.
std::string Platform::State::device_type_of(const jobs::Job& job) const {
  const auto type = device_types.find(job.life.placement.front().node);
  return type == device_types.end() ? job.submission.device_type : type->second;
}

std::vector<jobs::AttemptUse> Platform::State::running_uses() {
  std::vector<jobs::AttemptUse> out;
  const std::lock_guard guard(mutex);
  const jobs::WallTime now_ns = wall_ns();
  for (const jobs::Job& job : store.holding_nodes()) {
    const jobs::Life& life = job.life;
    if (life.started_ns == 0 || life.placement.empty()) continue;
    jobs::AttemptUse use{.job = job.id,
                         .attempt = life.attempt,
                         .user = job.owner,
                         .team = job.team,
                         .device_type = device_type_of(job)};
    for (const jobs::NodeShare& share : life.placement) use.devices += share.devices;
    use.from_ns = life.started_ns;
    use.to_ns = std::max(now_ns, life.started_ns);
    out.push_back(std::move(use));
  }
  return out;
}

void Platform::State::account(const jobs::Job& job) {
  if (job.life.placement.empty()) return;
  jobs::AttemptUse use;
  use.job = job.id;
  use.attempt = job.life.attempt;
  use.device_type = device_type_of(job);
  keep_use(use);
  if (!are_processors(use.device_type)) to_measure.push_back(use);  // those are not measured singly
}

void Platform::State::keep_use(const jobs::AttemptUse& use) {
  store.measure(use);
  const auto whole = store.use_of(use.job, use.attempt);
  const std::scoped_lock lock(usage_mutex);
  if (whole) usage.put(*whole);
}

void Platform::State::observe(const std::stop_token& stop) {
  bool swept = false;
  while (!stop.stop_requested()) {
    bool failed = false;
    try {
      if (!std::exchange(swept, true)) sweep_removed();
      reserve.keep();
      measure();
      look_for_idle();
    } catch (const std::exception&) {
      failed = true;  // the disk, or no memory for a moment: what was not done is still to be done
    }
    std::unique_lock lock(mutex);
    changed.wait_for(lock, stop, kAfterFailure, [&] { return !failed && !to_measure.empty(); });
  }
}

void Platform::State::measure() {
  for (;;) {
    jobs::AttemptUse use;
    {
      const std::lock_guard guard(mutex);
      if (to_measure.empty()) return;
      use = to_measure.front();
    }
    const engine::ExecutionFolder folder(folders.of(use.job, use.attempt));
    const auto task = folder.task();
    const DeviceActivity activity = activity_of_run(
        folder.run(), task ? task->devices : std::map<std::string, std::vector<int>>{});
    use.idle_device_s = activity.idle_device_s;
    use.energy_j = activity.energy_j;
    use.watched_device_s = activity.watched_device_s;
    const std::lock_guard guard(mutex);
    keep_use(use);
    to_measure.pop_front();
  }
}

void Platform::State::look_for_idle() {
  IdlePolicy policy;
  std::vector<jobs::Job> candidates;
  {
    const std::lock_guard guard(mutex);
    policy = cluster.settings.idle;
    const auto pause = pause_between_looks(policy);
    if (!pause || mono_now_ns() < idle_check_ns) return;
    idle_check_ns = mono_now_ns() + pause->count();
    for (const auto& [id, one] : running)
      if (auto job = store.find(id)) candidates.push_back(std::move(*job));
  }
  for (const jobs::Job& job : candidates) {
    const engine::Execution execution{job.id, job.life.attempt};
    const std::filesystem::path run =
        engine::ExecutionFolder(folders.of(job.id, job.life.attempt)).run();
    const auto kind = judge_activity(activity_of_run(run, engine->devices_of(execution)), policy,
                                     job.life.idle_warned, job.life.started_ns);
    if (!kind) continue;
    jobs::Event event = event_for(*kind);
    event.attempt = job.life.attempt;
    const std::lock_guard guard(mutex);
    (void)apply(job.id, event);
  }
}

void Platform::State::sweep_removed() {
  for (const jobs::JobId id : folders.all_removed()) {
    {
      const std::lock_guard guard(mutex);
      if (store.state_of(id)) continue;  // it could not be put back
    }
    std::error_code ec;
    std::filesystem::remove_all(folders.removed(id), ec);
  }
}

}  // namespace assay::platform
