#include "engine/slurm_watch.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "core/text.h"
#include "core/time.h"
#include "engine/controller.h"
#include "slurm/slurm_commands.h"

namespace assay::engine {

namespace {

std::vector<std::string> environment_in_slurm(const ExecutionFolder& folder,
                                              const PlacedSuite& suite) {
  std::vector<std::string> out = controller_environment(folder, suite);
  // Which Slurm it is; slurmd tells the job's processes the same.
  for (const char* name : {"SLURM_CONF", "SLURM_CONF_SERVER"})
    if (const char* value = std::getenv(name)) out.push_back(fmt::format("{}={}", name, value));
  return out;
}

}  // namespace

SlurmWatch::SlurmWatch(SlurmEngineOptions options, SlurmOverview& overview,
                       Engine::Reporter reporter)
    : options_(std::move(options)), overview_(overview), reporter_(std::move(reporter)) {
  submitter_ = std::jthread([this](const std::stop_token& stop) { submit_all(stop); });
  watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

SlurmWatch::~SlurmWatch() {
  submitter_.request_stop();
  watcher_.request_stop();
  to_submit_changed_.notify_all();
  changed_.notify_all();
}

void SlurmWatch::add(const Order& order, bool to_submit) {
  const std::lock_guard guard(mutex_);
  if (live_.contains(order.execution)) return;
  const auto live = std::make_shared<Live>(order);
  live_.emplace(order.execution, live);
  roots_.insert(order.folder.parent_path().parent_path().string());
  if (to_submit) {
    live->with_starter = true;
    to_submit_.push_back(live);
    to_submit_changed_.notify_all();
  }
  live->since_ns = mono_now_ns();
  next_ask_ns_ = 0;
  wake();
}

void SlurmWatch::wake() {
  news_ = true;
  changed_.notify_all();
}

void SlurmWatch::start(const Order& order) {
  add(order, /*to_submit=*/true);
}

void SlurmWatch::recall(const std::vector<Order>& orders) {
  for (const Order& order : orders) add(order, /*to_submit=*/false);
}

void SlurmWatch::stop(const Execution& execution, Nanoseconds grace) {
  const std::lock_guard guard(mutex_);
  const auto found = live_.find(execution);
  if (found == live_.end()) return;  // its end was reported
  Live& live = *found->second;
  live.grace = live.stopped ? std::min(live.grace, grace) : grace;
  live.stopped = true;
  if (live.asked > 0)
    live.force_at_ns =
        std::min(live.force_at_ns, mono_now_ns() + std::max(grace, kBetweenSignals).count());
  wake();
}

std::string SlurmWatch::waits_for(jobs::JobId id) {
  std::string trouble = overview_.trouble();
  const std::lock_guard guard(mutex_);
  const auto found = live_.lower_bound({id, 0});
  if (found == live_.end() || found->first.job != id || found->second->phase == SlurmPhase::running)
    return {};
  if (!trouble.empty()) return trouble;
  const auto jobs = jobs_.find(found->second->folder.work().string());
  if (jobs == jobs_.end() || jobs->second.empty()) return "is being handed to Slurm";
  const slurm::Job& job = jobs->second.front();
  const std::string pending = slurm::describe_pending(job);
  return pending.empty() ? fmt::format("Slurm starts it as job {}", job.id) : "Slurm: " + pending;
}

std::optional<jobs::WallTime> SlurmWatch::expected_start(jobs::JobId id) {
  const std::lock_guard guard(mutex_);
  const auto found = live_.lower_bound({id, 0});
  if (found == live_.end() || found->first.job != id) return std::nullopt;
  const auto jobs = jobs_.find(found->second->folder.work().string());
  if (jobs == jobs_.end() || jobs->second.empty()) return std::nullopt;
  const slurm::Job& job = jobs->second.front();
  if (job.state != slurm::JobState::pending || job.start_s <= 0) return std::nullopt;
  return job.start_s * 1'000'000'000;
}

SlurmWatch::Place SlurmWatch::place_of(const Execution& execution) {
  const std::lock_guard guard(mutex_);
  const auto found = live_.find(execution);
  if (found == live_.end() || found->second->phase != SlurmPhase::running) return {};
  return {true, found->second->allocation};
}

bool SlurmWatch::is_own(const slurm::Job& job) {
  const std::lock_guard guard(mutex_);
  return std::ranges::any_of(
      roots_, [&](const std::string& root) { return job.work_folder.starts_with(root + "/"); });
}

// --- submitting

void SlurmWatch::submit_all(const std::stop_token& stop) {
  for (;;) {
    std::unique_lock lock(mutex_);
    to_submit_changed_.wait(lock, stop, [this] { return !to_submit_.empty(); });
    if (stop.stop_requested()) return;
    const LivePtr live = to_submit_.front();
    to_submit_.pop_front();
    lock.unlock();
    try {
      submit(live);
    } catch (const std::exception& error) {
      jobs::Event failed;
      failed.kind = jobs::EventKind::engine_error;
      failed.attempt = live->order.execution.attempt;
      failed.detail = error.what();
      report_end(live, {failed});
    }
  }
}

void SlurmWatch::leave_starter(const LivePtr& live, SlurmPhase phase,
                               const std::string& slurm_job) {
  const std::lock_guard guard(mutex_);
  live->phase = phase;
  live->slurm_job = slurm_job;
  live->since_ns = mono_now_ns();
  live->with_starter = false;
  wake();
}

SlurmTarget SlurmWatch::target_of(const Order& order) {
  const auto first = [](const std::string& a, const std::string& b) { return a.empty() ? b : a; };
  std::string partition = order.queue.partition;
  // A partition is a queue by its own name.
  for (const slurm::Node& node : overview_.nodes())
    if (partition.empty() &&
        std::ranges::find(node.partitions, order.submission.queue) != node.partitions.end())
      partition = order.submission.queue;
  return {first(partition, options_.target.partition),
          first(order.queue.account, options_.target.account),
          first(order.queue.qos, options_.target.qos)};
}

void SlurmWatch::submit(const LivePtr& live) {
  const Order& order = live->order;
  bool stopped = false;
  {
    const std::lock_guard guard(mutex_);
    stopped = live->stopped;
  }
  try {
    // Begun before: it is found, not submitted again.
    if (live->folder.beginning()) return leave_starter(live, SlurmPhase::recalled);
  } catch (const Error&) {
    return leave_starter(live, SlurmPhase::unsure);  // that cannot be looked at now
  }
  if (stopped || !overview_.trouble().empty()) return leave_starter(live, SlurmPhase::unsure);
  const PlacedSuite suite = suite_in_slurm(order);
  write_execution(order, suite,
                  {.job = order.execution.job,
                   .attempt = order.execution.attempt,
                   .set = suite.set,
                   .secrets = suite.secrets},
                  live->folder);
  if (!order.secrets.empty()) live->folder.write_secrets(order.secrets);
  write_file_atomic(batch_script_file(live->folder),
                    batch_script(live->folder, options_.bindir / "assay"), /*sync=*/false);
  const auto outcome = slurm::submit(sbatch_args(order, target_of(order), overview_.nodes()),
                                     {.environment = environment_in_slurm(live->folder, suite)});
  if (const auto* refused = std::get_if<slurm::Refused>(&outcome))
    throw Error(ErrorKind::environment, "Slurm did not take the job: " + refused->words);
  if (const auto* silence = std::get_if<slurm::NoAnswer>(&outcome)) {
    overview_.not_heard(silence->words);
    return leave_starter(live, SlurmPhase::unsure);
  }
  leave_starter(live, SlurmPhase::submitted, std::get<slurm::Submitted>(outcome).id);
}

void SlurmWatch::report_end(const LivePtr& live, const Events& events) {
  live->folder.remove_secrets();
  {
    const std::lock_guard guard(mutex_);
    live_.erase(live->order.execution);
  }
  for (const jobs::Event& event : events) reporter_(live->order.execution, event);
}

}  // namespace assay::engine
