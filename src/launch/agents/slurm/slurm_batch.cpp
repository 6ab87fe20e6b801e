#include "launch/agents/slurm/slurm_batch.h"

#include <algorithm>

#include "core/error.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "launch/agents/slurm/slurm_command.h"

namespace assay::launch {

namespace {

CommandResult run_slurm(const std::vector<std::string>& argv) {
  CommandOptions options;
  options.timeout = std::chrono::seconds(30);
  CommandResult result = run_command(argv, options);
  if (result.not_found)
    throw Error(ErrorKind::environment, argv.front() + " is not installed", {},
                "run assay on a login node of the Slurm cluster");
  return result;
}

std::string own_words(const CommandResult& result) {
  return result.timed_out ? "no answer within 30 s" : printable(trim(result.err));
}

}  // namespace

std::vector<std::string> sbatch_argv(const plan::Plan& plan,
                                     const std::vector<std::string>& command,
                                     const std::filesystem::path& log) {
  SlurmJob job;
  job.name = "assay-" + plan.run_id;
  for (const plan::CasePlan& plan_case : plan.cases)
    job.nodes = std::max(job.nodes, plan_case.nodes);
  job.options = std::get<plan::SlurmOptions>(plan.cluster.options);
  std::vector<std::string> argv{"sbatch", "--parsable", "--open-mode=append",
                                "--output=" + log.string()};
  // A job that Slurm starts again resumes the run.
  argv.emplace_back(plan.cluster.retries > 0 ? "--requeue" : "--no-requeue");
  argv.push_back("--wrap=exec " + shell_join(command));
  // Last: what follows a ":" is of another component.
  for (std::string& word : allocation_options(job)) argv.push_back(std::move(word));
  return argv;
}

std::string submit_batch(const plan::Plan& plan, const std::vector<std::string>& command,
                         const std::filesystem::path& log) {
  if (!plan.cluster.traits.shares_files)
    throw Error(ErrorKind::config, "a detached run needs `cluster.slurm.shared: true`",
                plan.suite_file,
                "the controller runs on a node, which must see the run directory; without a shared "
                "file system, run assay in tmux or within salloc");
  const CommandResult result = run_slurm(sbatch_argv(plan, command, log));
  // "17" or "17;cluster"
  std::string id(trim(std::string_view(result.out).substr(0, result.out.find(';'))));
  if (!result.status.ok() || id.empty())
    throw Error(ErrorKind::launch, "sbatch did not take the job: " + own_words(result));
  return id;
}

std::string batch_waits_for(const std::string& job) {
  for (const slurm::Job& state : ask_squeue({"--jobs=" + job}))
    if (std::string text = slurm::describe_pending(state); !text.empty()) return text;
  return {};
}

void cancel_batch(const std::string& job, bool waiting) {
  std::vector<std::string> argv{"scancel"};
  if (!waiting) argv.insert(argv.end(), {"--batch", "--signal=TERM"});
  argv.push_back(job);
  const CommandResult result = run_slurm(argv);
  if (!result.status.ok())
    throw Error(ErrorKind::environment, "cannot cancel job " + job + ": " + own_words(result));
}

}  // namespace assay::launch
