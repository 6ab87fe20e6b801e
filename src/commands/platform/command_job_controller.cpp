#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/platform/job_code.h"
#include "commands/platform/job_sweep.h"
#include "commands/runs/execute.h"
#include "commands/runs/fix_batches.h"
#include "commands/runs/planning.h"
#include "core/error.h"
#include "core/host.h"
#include "core/text.h"
#include "core/time.h"
#include "engine/controller.h"
#include "engine/execution_folder.h"
#include "engine/placed_suite.h"
#include "engine/plan_answer.h"
#include "entry/run_as_user.h"
#include "launch/backends/make_backend.h"
#include "plan/make_plan.h"
#include "slurm/slurm_commands.h"
#include "tensorboard/run_events.h"

namespace assay::commands {

namespace {

// The Slurm job that contains this process; empty if none.
std::string slurm_job() {
  const char* id = std::getenv("SLURM_JOB_ID");
  return id == nullptr ? "" : id;
}

// Ranks get a single variable, so nodes with different devices of a job cannot be told theirs.
std::vector<std::string> settings_of(const slurm::Allocation& allocation) {
  const auto& nodes = allocation.nodes;
  if (nodes.empty() || std::ranges::any_of(nodes, [&](const slurm::NodeAllocation& node) {
        return node.devices != nodes.front().devices;
      }))
    return {};
  return {engine::devices_setting(nodes.front().devices)};
}

// If jobs run as their own users, the controller is root, and nothing of a job may run in it.
void refuse_hooks_of_root(const plan::Plan& plan) {
  if (std::getenv(entry::kAsUserVariable) == nullptr) return;
  const auto refuse = [](const std::vector<plan::Hook>& hooks) {
    for (const plan::Hook& hook : hooks)
      if (hook.on == plan::HookPlace::controller)
        throw Error(ErrorKind::config,
                    "the hook '" + printable(hook.name) + "' would run beside the server",
                    hook.origin, "on: nodes runs it as the job's user");
  };
  refuse(plan.hooks);
  for (const plan::CasePlan& plan_case : plan.cases) refuse(plan_case.hooks);
}

// What the suite sets wins over what is given besides it: nobody would see that the secret is not
// used.
void refuse_hidden_secrets(const plan::Plan& plan,
                           const std::map<std::string, std::string>& secrets) {
  for (const auto& [variable, name] : secrets)
    for (const plan::CasePlan& plan_case : plan.cases)
      if (plan_case.env.contains(variable))
        throw Error(ErrorKind::config,
                    fmt::format("the case '{}' sets {} itself: the secret '{}' would not be used",
                                plan_case.name, variable, name));
}

std::string secrets_in_words(const std::map<std::string, std::string>& secrets) {
  std::string out;
  for (const auto& [variable, name] : secrets)
    out += fmt::format("{}={} ", variable, "(secret " + name + ")");
  return out.empty() ? out : "\nsecrets: " + std::string(trim(out)) + "\n";
}

plan::Plan plan_of(const engine::ExecutionFolder& folder) {
  const auto task = folder.task();
  if (!task)
    throw Error(ErrorKind::usage, "there is no execution here that can be read",
                folder.path().string());
  PlanRequest request;
  request.suite = folder.suite().string();
  request.set = task->set;
  if (const auto allocation = folder.allocation())
    for (std::string& setting : settings_of(*allocation)) request.set.push_back(std::move(setting));
  plan::Plan plan = make_plan(request);
  refuse_hooks_of_root(plan);
  refuse_hidden_secrets(plan, task->secrets);
  return plan;
}

// How the server reaches its nodes (keys, options of ssh) is in the placement: that is no business
// of whoever submits a job.
void leave_out_access(plan::Plan& plan) {
  std::erase_if(plan.overrides,
                [](const std::string& text) { return text.starts_with("--set cluster="); });
}

// The same: without the commands that start the agents, which come first.
std::string without_agents(const launch::DryRun& execution) {
  const auto end = execution.text.find("\n\n");
  if (!execution.json.contains("agents") || end == std::string::npos) return execution.text;
  return execution.text.substr(end + 2);
}

// For the server, which shows it to the person about to submit the job.
int print_plan(const engine::ExecutionFolder& folder) {
  engine::PlanAnswer answer;
  try {
    plan::Plan plan = plan_of(folder);
    engine::Planned planned;
    for (const plan::CasePlan& plan_case : plan.cases) {
      planned.nodes = std::max(planned.nodes, plan_case.nodes);
      planned.procs = std::max(planned.procs, plan_case.procs);
      planned.grace = std::max(planned.grace, plan_case.limits.grace);
    }
    plan.suite_file = folder.suite().filename().string();
    leave_out_access(plan);
    const launch::DryRun execution =
        launch::describe_run(plan, program_folder(), folder.runs() / plan.run_id);
    planned.text = plan::render_text(plan) + "\n" + without_agents(execution);
    if (const auto task = folder.task()) planned.text += secrets_in_words(task->secrets);
    answer.planned = std::move(planned);
  } catch (const Error& error) {
    // The place refers to the text that was sent, wherever it is stored here.
    std::string where = error.where();
    const std::string suite = folder.suite().string();
    if (where.starts_with(suite)) where = "suite.yaml" + where.substr(suite.size());
    answer.fault = {error.message(), where, error.advice()};
  }
  fmt::print("{}\n", engine::plan_answer_line(answer));
  return 0;
}

/// Writes the run's curves for TensorBoard during the run, and the rest at its end. A failure to
/// write is reported once, and does not affect the run.
class CurveWriter {
 public:
  CurveWriter(const std::filesystem::path& run, const std::filesystem::path& folder)
      : events_(run, folder), thread_([this](const std::stop_token& stop) { write_until(stop); }) {}
  CurveWriter(const CurveWriter&) = delete;
  CurveWriter& operator=(const CurveWriter&) = delete;
  ~CurveWriter() {
    thread_.request_stop();
    thread_.join();
    write();
  }

 private:
  void write_until(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, stop, std::chrono::seconds(5), [] { return false; }) &&
           !stop.stop_requested())
      write();
  }
  void write() {
    try {
      events_.look();
    } catch (const Error& error) {
      if (!said_) say(std::string("assay: the curves for TensorBoard: ") + error.what() + "\n");
      said_ = true;
    }
  }

  tensorboard::RunEvents events_;
  bool said_ = false;
  std::jthread thread_;
};

int control(const engine::ExecutionFolder& folder) {
  const engine::ExecutionLock lock(folder);
  // Written before the beginning, when the server reads it.
  if (const std::string job = slurm_job(); !job.empty())
    folder.write_allocation(slurm::own_allocation(job));
  if (!folder.decide({.never = false,
                      .pid = ::getpid(),
                      .wall_ns = wall_now_ns(),
                      .slurm_job = slurm_job()})) {
    say("this execution has begun before, or was called off\n");
    return 0;
  }
  engine::ControllerEnd end;
  try {
    // Done before starting anything, because everything inherits them.
    if (const auto task = folder.task()) engine::bind_to_processors(task->processors);
    plan::Plan plan = plan_of(folder);
    std::map<std::string, std::string> secrets;
    if (const auto task = folder.task())
      secrets = engine::receive_secrets(folder, *task, !slurm_job().empty());
    fix_batches(plan);
    std::optional<RemoteCode> code;
    if (const auto task = folder.task(); task && !task->remote_work.empty())
      code.emplace(plan, folder.work(), task->remote_work);
    const store::RunDir run = store::RunDir::create(folder.runs(), plan);
    const CurveWriter curves(run.path(), folder.tensorboard());
    end.exit_code = execute(run, nullptr, {}, secrets);
  } catch (const Error& error) {
    end = engine::end_of(error);
    say(std::string("assay: error: ") + error.what() + "\n");
  }
  end.wall_ns = wall_now_ns();
  folder.write_end(end);
  return end.exit_code;
}

}  // namespace

void add_job_controller(CLI::App& app, Action& action) {
  const auto folder = std::make_shared<std::string>();
  const auto plan = std::make_shared<bool>(false);
  const auto sweep = std::make_shared<bool>(false);
  CLI::App* command = add_known(app, "job-controller");
  command->add_option("folder", *folder)->required();
  command->add_flag("--plan", *plan, "Print what it would do, and do nothing");
  command->add_flag("--sweep", *sweep, "End what a controller has left that was killed");
  command->callback([=, &action] {
    action = [=] {
      const engine::ExecutionFolder execution(*folder);
      if (!*sweep) return *plan ? print_plan(execution) : control(execution);
      // A second Slurm job of the execution that did not begin leaves the first one's files alone.
      const auto beginning = execution.beginning();
      if (beginning && !beginning->slurm_job.empty() && beginning->slurm_job != slurm_job())
        return 0;
      sweep_open_rounds(execution.run());
      if (const auto task = execution.task(); task && !task->remote_work.empty())
        remove_remote_code(store::RunDir::open(execution.run()).plan(), task->remote_work);
      return 0;
    };
  });
}

}  // namespace assay::commands
