#include "emulator/process_runner.h"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/env_names.h"
#include "core/error.h"
#include "core/files.h"
#include "core/process_tree.h"

namespace assay::emulator {

namespace {

constexpr auto kTick = std::chrono::milliseconds(20);
constexpr auto kGrace = std::chrono::seconds(2);  // between SIGTERM and SIGKILL
constexpr rlim_t kMaxFile = 4ULL << 30;

template <class Processes>
void signal_all(const Processes& processes, int signal) {
  for (const auto& process : processes) process.child.signal(signal);
}

void note(std::vector<TaskEnd>& tasks, int task, const ExitStatus& status) {
  TaskEnd& end = tasks[static_cast<std::size_t>(task)];
  if (status.ok() || end.exit_code != 0) return;
  end.exit_code = status.code ? *status.code : 128 + status.signal.value_or(0);
  end.message = status.code ? "the process failed" : to_string(status);
}

}  // namespace

ProcessRunner::ProcessRunner(const Settings& settings, ObsStore& store, JobFaults& faults)
    : settings_(settings), store_(store), faults_(faults) {}

ProcessRunner::~ProcessRunner() {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, job] : jobs_) job->stop = true;
  }
  changed_.notify_all();
  for (auto& [id, job] : jobs_) job->thread.join();
}

void ProcessRunner::start(const JobToRun& spec) {
  const std::lock_guard lock(mutex_);
  auto job = std::make_unique<Job>();
  job->spec = spec;
  job->mark = fmt::format("emulated-{}-{}", ::getpid(), spec.id);
  job->folder = std::filesystem::absolute(settings_.root) / "jobs" / spec.id;
  job->fault = faults_.take(spec.name);
  Job& placed = *job;
  jobs_[spec.id] = std::move(job);
  // The kernel kills the job's processes when the thread that started them ends.
  placed.thread = std::thread([this, &placed] { run(placed); });
}

JobProgress ProcessRunner::progress(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return jobs_.at(id)->progress;
}

void ProcessRunner::stop(const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    Job& job = *jobs_.at(id);
    if (job.progress.ended_ns != 0) return;
    job.stop = true;
    job.progress.stage = JobStage::stopping;
  }
  changed_.notify_all();
}

std::string ProcessRunner::log(const std::string& id, int task) {
  std::filesystem::path file;
  {
    const std::lock_guard lock(mutex_);
    const Job& job = *jobs_.at(id);
    file = JobInstance(job.spec, task, job.folder).log();
  }
  return read_file_or_empty(file);
}

void ProcessRunner::finish(Job& job, JobStage stage, std::vector<TaskEnd> tasks) {
  const std::lock_guard lock(mutex_);
  job.progress.stage = stage;
  job.progress.tasks = std::move(tasks);
  job.progress.ended_ns = wall_now_ns();
}

bool ProcessRunner::wait_for_turn(Job& job, int processes) {
  std::unique_lock lock(mutex_);
  const bool never = job.fault && job.fault->kind == JobFault::Kind::never_start;
  if (never) changed_.wait(lock, [&] { return job.stop; });
  changed_.wait_for(lock, settings_.job_pending, [&] { return job.stop; });
  changed_.wait(lock, [&] { return job.stop || living_ + processes <= settings_.job_processes; });
  if (job.stop) return false;
  living_ += processes;
  return true;
}

void ProcessRunner::run(Job& job) {
  std::vector<TaskEnd> none(static_cast<std::size_t>(job.spec.nodes));
  try {
    std::vector<JobInstance> instances;
    int processes = 0;
    for (int i = 0; i < job.spec.nodes; ++i)
      processes += instances.emplace_back(job.spec, i, job.folder).processes();
    if (processes > settings_.job_processes)
      throw Error(ErrorKind::environment,
                  fmt::format("the job has {} processes, the emulator starts at most {}", processes,
                              settings_.job_processes));
    for (;;) {
      if (!wait_for_turn(job, processes)) return finish(job, JobStage::stopped, none);
      const auto leave = [&](Ending* ending) {
        const std::lock_guard lock(mutex_);
        living_ -= processes;
        if (ending != nullptr && ending->again) {
          job.progress.stage = JobStage::pending;
          ++job.progress.restarts;
          job.fault.reset();
        }
        changed_.notify_all();
      };
      Ending ending;
      try {
        ending = run_once(job, instances);
      } catch (...) {
        sweep_round(job.mark);
        leave(nullptr);
        throw;
      }
      leave(&ending);
      if (!ending.again) return finish(job, ending.stage, std::move(ending.tasks));
    }
  } catch (const std::exception& e) {
    if (!none.empty()) none[0] = {1, e.what()};
    finish(job, JobStage::failed, std::move(none));
  }
}

void ProcessRunner::spawn_all(const Job& job, const std::vector<JobInstance>& instances,
                              std::vector<Process>& living) const {
  const auto cpu = static_cast<rlim_t>(std::max(1.0, seconds(settings_.job_cpu)));
  for (int task = 0; task < job.spec.nodes; ++task) {
    const JobInstance& instance = instances[static_cast<std::size_t>(task)];
    for (int process = 0; process < instance.processes(); ++process) {
      std::vector<std::string> env = instance.environment(process);
      env.push_back(std::string(kRoundVariable) + "=" + job.mark);
      living.push_back(
          {spawn({.argv = instance.command(settings_.python),
                  .env = std::move(env),
                  .folder = instance.workdir().string(),
                  .out = Stream::append(instance.log(), 0600),
                  .err = Stream::output(),
                  .limits = {{RLIMIT_CPU, {cpu, cpu + 1}}, {RLIMIT_FSIZE, {kMaxFile, kMaxFile}}},
                  .error_kind = ErrorKind::launch}),
           task});
    }
  }
}

bool ProcessRunner::meet_fault(const Job& job, const std::vector<Process>& living,
                               Ending& ending) const {
  using Kind = JobFault::Kind;
  switch (job.fault->kind) {
    case Kind::fail:
      for (const auto& process : living)
        if (process.task == job.fault->task) process.child.signal(SIGKILL);
      return false;
    case Kind::hang:
      signal_all(living, SIGSTOP);
      return false;
    case Kind::preempt:
      ending.stage = JobStage::lost;
      for (TaskEnd& task : ending.tasks) task.message = "the instance was preempted";
      return true;
    case Kind::reschedule:
      ending.again = true;
      return true;
    case Kind::kill:
      ending.stage = JobStage::stopped;
      return true;
    case Kind::never_start:
      break;
  }
  return false;
}

void ProcessRunner::watch(Job& job, std::vector<JobInstance>& instances,
                          std::vector<Process>& living, Ending& ending) {
  const std::int64_t start = mono_now_ns();
  std::int64_t upload_at = start;
  std::int64_t kill_at = 0;  // 0: not yet asked to end
  bool fault_met = !job.fault.has_value();
  Nanoseconds longest = settings_.job_time;
  if (job.spec.time_limit.count() > 0) longest = std::min(longest, job.spec.time_limit);
  while (!living.empty()) {
    bool stop = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kTick, [&] { return job.stop && kill_at == 0; });
      stop = job.stop;
    }
    std::erase_if(living, [&](Process& process) {
      const auto status = process.child.poll();
      // A process that ends on request has not failed.
      if (status && kill_at == 0) note(ending.tasks, process.task, *status);
      return status.has_value();
    });
    const std::int64_t now = mono_now_ns();
    const bool failed = std::any_of(ending.tasks.begin(), ending.tasks.end(),
                                    [](const TaskEnd& end) { return end.exit_code != 0; });
    bool end = stop || failed;
    if (failed && kill_at == 0) ending.stage = JobStage::failed;
    if (!fault_met && now - start >= job.fault->after.count()) {
      fault_met = true;
      end = meet_fault(job, living, ending) || end;
    }
    if (now - start > longest.count() && kill_at == 0) {
      ending.stage = JobStage::stopped;
      for (TaskEnd& task : ending.tasks)
        if (task.message.empty()) task.message = "the job ran out of its time";
      end = true;
    }
    if (stop && kill_at == 0) ending.stage = JobStage::stopped;
    if (end && kill_at == 0) {
      kill_at = now + Nanoseconds(kGrace).count();
      signal_all(living, SIGTERM);
      signal_all(living, SIGCONT);  // a suspended process would not receive it
    }
    if (kill_at != 0 && now >= kill_at) signal_all(living, SIGKILL);
    if (now >= upload_at) {
      for (auto& instance : instances) instance.upload(store_);
      upload_at = mono_now_ns() + settings_.job_upload.count();
    }
  }
}

ProcessRunner::Ending ProcessRunner::run_once(Job& job, std::vector<JobInstance>& instances) {
  for (auto& instance : instances) instance.prepare(store_);
  Ending ending;
  ending.tasks.resize(instances.size());
  {
    const std::lock_guard lock(mutex_);
    if (job.progress.stage == JobStage::pending) job.progress.stage = JobStage::running;
    if (job.progress.started_ns == 0) job.progress.started_ns = wall_now_ns();
  }
  std::vector<Process> living;
  spawn_all(job, instances, living);
  watch(job, instances, living, ending);
  sweep_round(job.mark);
  for (auto& instance : instances) instance.upload(store_);
  return ending;
}

}  // namespace assay::emulator
