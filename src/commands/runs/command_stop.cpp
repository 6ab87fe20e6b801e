#include <functional>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "commands/base/commands.h"
#include "commands/base/terminal.h"
#include "commands/runs/detach.h"
#include "commands/runs/stop.h"
#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/text.h"
#include "core/time.h"
#include "core/units.h"
#include "launch/agents/slurm/slurm_batch.h"
#include "store/journal_records.h"
#include "store/run_dir.h"

namespace assay::commands {

namespace {

constexpr Nanoseconds kMargin = std::chrono::seconds(30);
// Simultaneous signals of one kind are merged, so a second one must come after the first was
// handled.
constexpr std::int64_t kBetweenSignals = 500'000'000;

struct Owner {
  pid_t pid = 0;
  std::string host;
  std::string job;  // the allocation in which it runs, if any
};

Owner owner_of(const store::RunDir& run) {
  Owner owner;
  for (const Json& event : store::Journal::read(run.journal_file()))
    if (store::starts_run(store::event_of(event))) {
      auto start = fields_from_any<store::RunStart>(event);
      owner = {start.pid, std::move(start.host), std::move(start.job)};
    }
  return owner;
}

/// Calls `again` every second meanwhile.
bool wait_until_free(const store::RunDir& run, Nanoseconds limit,
                     const std::function<void()>& again) {
  const std::int64_t deadline = mono_now_ns() + limit.count();
  std::int64_t next = mono_now_ns() + kBetweenSignals;
  while (store::RunLock::held(run.path())) {
    const std::int64_t now = mono_now_ns();
    if (now > deadline) return false;
    if (again && now >= next) {
      again();
      next = now + kBetweenSignals;
    }
    ::poll(nullptr, 0, 50);
  }
  return true;
}

// A batch job that has not begun holds nothing, and is withdrawn.
bool withdraw(const store::RunDir& run, const std::string& job) {
  if (job.empty() || launch::batch_waits_for(job).empty()) return false;
  launch::cancel_batch(job, /*waiting=*/true);
  tell(fmt::format("job {} is withdrawn; 'assay run --resume {}' goes on\n", job,
                   run.path().string()));
  return true;
}

// Asks the controller to end, like Ctrl-C; returns the command that would end it by force.
std::string ask_to_end(const Owner& owner, const std::string& job, const std::string& path) {
  if (!job.empty() && owner.job == job) {
    launch::cancel_batch(job, /*waiting=*/false);
    return "scancel " + job;
  }
  if (owner.host != host_name())
    throw Error(ErrorKind::environment, "the run is controlled from host " + owner.host, path,
                "run 'assay stop' there");
  const std::string command = read_file_or_empty("/proc/" + std::to_string(owner.pid) + "/comm");
  if (owner.pid <= 0 || trim(command) != "assay")
    throw Error(ErrorKind::environment, "the run's process cannot be found", path,
                "it may be ending right now; try again");
  if (::kill(owner.pid, SIGTERM) != 0)
    throw system_error(ErrorKind::environment, "cannot signal the run", path, errno);
  return fmt::format("kill -9 {}", owner.pid);
}

}  // namespace

int stop_run(const std::string& path, bool at_once) {
  const store::RunDir run = store::RunDir::open(path);
  const std::string job = batch_job_of(run);
  if (!store::RunLock::held(run.path())) {
    if (!withdraw(run, job)) tell(fmt::format("{} is not running\n", run.plan().run_id));
    return 0;
  }
  const Owner owner = owner_of(run);
  Nanoseconds grace{};
  for (const plan::CasePlan& plan_case : run.plan().cases)
    grace = std::max(grace, plan_case.limits.grace);
  const std::string by_force = ask_to_end(owner, job, path);
  tell(fmt::format("stopping {} (process {} on {})\n", run.plan().run_id, owner.pid, owner.host));
  std::fflush(stdout);
  std::function<void()> again;
  // It may end between the check and the signal.
  if (at_once)
    again = [&] {
      try {
        (void)ask_to_end(owner, job, path);
      } catch (const Error&) {
        if (store::RunLock::held(run.path())) throw;
      }
    };
  if (!wait_until_free(run, grace + kMargin, again))
    throw Error(ErrorKind::environment,
                "the run did not end within " + format_duration(grace + kMargin), path,
                "'" + by_force + "' ends it; its agents then end their ranks");
  tell(fmt::format("stopped; 'assay run --resume {}' goes on\n", path));
  return 0;
}

void add_stop(CLI::App& app, Action& action) {
  const auto run = std::make_shared<std::string>();
  const auto at_once = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("stop", "Stop a run; it can be resumed");
  command->add_option("run", *run, "Folder of a run")->required()->type_name("RUN");
  command->add_flag("--now", *at_once, "Kill the ranks at once instead of asking them to end");
  command->footer("Examples:\n  assay stop results/latest");
  command->callback(
      [run, at_once, &action] { action = [run, at_once] { return stop_run(*run, *at_once); }; });
}

}  // namespace assay::commands
