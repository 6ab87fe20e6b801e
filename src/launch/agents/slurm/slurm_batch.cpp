#include "launch/agents/slurm/slurm_batch.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "launch/agents/slurm/slurm_command.h"
#include "slurm/slurm_commands.h"

namespace assay::launch {

namespace {

constexpr Nanoseconds kQuestionLimit = std::chrono::seconds(3);
constexpr Nanoseconds kOrderLimit = std::chrono::seconds(30);

/// Why Slurm did not do it; empty: it did. Throws Error of kind environment without Slurm.
template <class Outcome>
std::string why_not(const Outcome& outcome) {
  const auto* silence = std::get_if<slurm::NoAnswer>(&outcome);
  if (silence != nullptr && silence->not_installed)
    throw Error(ErrorKind::environment, silence->words, {},
                "run assay on a login node of the Slurm cluster");
  if (silence != nullptr) return silence->words;
  const auto* refused = std::get_if<slurm::Refused>(&outcome);
  return refused != nullptr ? refused->words : "";
}

}  // namespace

std::vector<std::string> sbatch_args(const plan::Plan& plan,
                                     const std::vector<std::string>& command,
                                     const std::filesystem::path& log) {
  SlurmJob job;
  job.name = "assay-" + plan.run_id;
  for (const plan::CasePlan& plan_case : plan.cases)
    job.nodes = std::max(job.nodes, plan_case.nodes);
  job.options = std::get<plan::SlurmOptions>(plan.cluster.options);
  std::vector<std::string> args{"--open-mode=append", "--output=" + log.string()};
  // A job that Slurm starts again resumes the run.
  args.emplace_back(plan.cluster.retries > 0 ? "--requeue" : "--no-requeue");
  args.push_back("--wrap=exec " + shell_join(command));
  // Last: what follows a ":" is of another component.
  for (std::string& word : allocation_options(job)) args.push_back(std::move(word));
  return args;
}

std::string submit_batch(const plan::Plan& plan, const std::vector<std::string>& command,
                         const std::filesystem::path& log) {
  if (!plan.cluster.traits.shares_files)
    throw Error(ErrorKind::config, "a detached run needs `cluster.slurm.shared: true`",
                plan.suite_file,
                "the controller runs on a node, which must see the run directory; without a shared "
                "file system, run assay in tmux or within salloc");
  const auto outcome = slurm::submit(sbatch_args(plan, command, log), {.limit = kOrderLimit});
  if (const std::string why = why_not(outcome); !why.empty())
    throw Error(ErrorKind::launch, "sbatch did not take the job: " + why);
  return std::get<slurm::Submitted>(outcome).id;
}

std::string batch_waits_for(const std::string& job) {
  const auto answer = slurm::ask_jobs({.id = job}, kQuestionLimit);
  const auto* jobs = std::get_if<std::vector<slurm::Job>>(&answer);
  if (jobs == nullptr) return {};
  for (const slurm::Job& one : *jobs)
    if (std::string text = slurm::describe_pending(one); !text.empty()) return text;
  return {};
}

void cancel_batch(const std::string& job, bool waiting) {
  const std::string why = why_not(waiting ? slurm::cancel(job, kOrderLimit)
                                          : slurm::signal_script(job, "TERM", kOrderLimit));
  if (!why.empty()) throw Error(ErrorKind::environment, "cannot cancel job " + job + ": " + why);
}

}  // namespace assay::launch
