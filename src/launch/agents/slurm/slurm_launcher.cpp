#include "launch/agents/slurm/slurm_launcher.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/run_async.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/time.h"
#include "launch/agents/launch_command.h"
#include "launch/agents/slurm/slurm_end.h"
#include "slurm/slurm_commands.h"

namespace assay::launch {

namespace fs = std::filesystem;

namespace {

// The round's end waits for the answer.
constexpr Nanoseconds kExplainLimit = std::chrono::seconds(8);
constexpr auto kBetweenTries = std::chrono::milliseconds(250);
constexpr Nanoseconds kSqueueLimit = std::chrono::seconds(3);

using JobsAnswer = slurm::Answer<std::vector<slurm::Job>>;

asio::awaitable<JobsAnswer> ask_jobs_async(slurm::JobFilter which) {
  // Made here: GCC 12 cannot have a list of initializers in an awaited expression.
  SpawnOptions options = command_options(slurm::squeue_argv(which), "squeue");
  RunLimits limits;
  limits.total = kSqueueLimit;
  try {
    const CommandResult result = co_await run_async(std::move(options), limits);
    co_return slurm::read_jobs(which, result, kSqueueLimit);
  } catch (const Error& error) {
    co_return slurm::NoAnswer{error.message()};  // it cannot be started
  }
}

}  // namespace

SlurmLauncher::SlurmLauncher(const plan::Cluster& cluster, const plan::SlurmOptions& options,
                             fs::path bindir)
    : Launcher(cluster), bindir_(std::move(bindir)) {
  job_.options = options;
  job_.agent = (bindir_ / "assay-agent").string();
  job_.bundle.sha256 = "<hash>";
  job_.name = "assay";
  const char* allocation = std::getenv("SLURM_JOB_ID");
  if (allocation != nullptr) {
    job_.allocation = allocation;
    job_.components = own_components();
  } else {
    for (const plan::SlurmComponent& component : options.components)
      job_.components.push_back(component.nodes);
  }
  if (!job_.components.empty() && job_.broadcast())
    throw Error(ErrorKind::config, "a heterogeneous job needs `cluster.slurm.shared: true`", {},
                "sbcast reaches one component only; put the programs and the run directory where "
                "all nodes see them");
}

void SlurmLauncher::do_prepare(const plan::Plan& plan) {
  for (const char* program : {"srun", "salloc", "squeue"})
    if (!find_program(program))
      throw Error(ErrorKind::environment, std::string(program) + " is not installed", {},
                  "run assay on a login node of the Slurm cluster");
  job_.name = "assay-" + plan.run_id;
  const int nodes = static_cast<int>(do_hosts(plan).size());
  const int there = std::accumulate(job_.components.begin(), job_.components.end(), 0);
  if (!job_.components.empty() && there < nodes)
    throw Error(ErrorKind::config,
                fmt::format("a case needs {}, and the components of the heterogeneous job have {}",
                            counted(nodes, "node"), there),
                plan.suite_file, "raise `nodes` of a component (cluster.slurm.components)");
  if (job_.broadcast()) job_.bundle = make_bundle(bindir_, programs_of(plan));
}

std::vector<std::string> SlurmLauncher::do_hosts(const plan::Plan& plan) const {
  int nodes = 1;
  for (const plan::CasePlan& plan_case : plan.cases) nodes = std::max(nodes, plan_case.nodes);
  std::vector<std::string> hosts;
  for (int node = 0; node < nodes; ++node) hosts.push_back(fmt::format("slurm-node{}", node));
  return hosts;
}

std::vector<ChannelCommand> SlurmLauncher::do_render(const std::vector<std::string>& hosts) const {
  SlurmJob job = job_;
  job.nodes = static_cast<int>(hosts.size());
  ChannelCommand command{slurm_argv(job), {}, "Slurm", {}, /*ask_to_end=*/true};
  for (int node = 0; node < job.nodes; ++node) command.nodes.push_back(node);
  return {command};
}

fs::path SlurmLauncher::do_remote_dir(const NodePlace& place) const {
  if (traits().shares_files) return place.local();
  return fs::path(fmt::format("/tmp/assay-{}/runs", ::getuid())) / place.run_dir.filename() /
         place.folder();
}

fs::path SlurmLauncher::do_programs_dir(const agent::Hello& hello) const {
  return traits().shares_files ? bindir_ : fs::path(hello.bindir);
}

std::vector<std::string> SlurmLauncher::do_agent_command(
    const std::string& host, const agent::Hello& hello,
    const std::vector<std::string>& args) const {
  std::vector<std::string> argv{(do_programs_dir(hello) / "assay-agent").string()};
  argv.insert(argv.end(), args.begin(), args.end());
  return slurm::step_argv(hello.job.empty() ? job_.allocation : hello.job, host, argv);
}

asio::awaitable<std::string> SlurmLauncher::do_waiting_for() const {
  if (!job_.allocation.empty()) co_return "";
  slurm::JobFilter which;
  which.name = job_.name;
  const JobsAnswer answer = co_await ask_jobs_async(which);
  if (const auto* jobs = std::get_if<std::vector<slurm::Job>>(&answer))
    for (const slurm::Job& job : *jobs)
      if (std::string text = slurm::describe_pending(job); !text.empty()) co_return text;
  co_return "";
}

asio::awaitable<std::string> SlurmLauncher::do_explain_end(agent::Hello hello) const {
  slurm::JobFilter which;
  if (hello.job.empty())
    which.name = job_.name;
  else
    which.id = hello.job;  // a heterogeneous job ends as a whole
  asio::steady_timer pause(co_await asio::this_coro::executor);
  const std::int64_t begin = mono_now_ns();
  while (mono_now_ns() - begin < kExplainLimit.count()) {
    const JobsAnswer answer = co_await ask_jobs_async(which);
    const EndWord said = word_on_end(answer, job_.allocation, Nanoseconds(mono_now_ns() - begin));
    if (!said.ask_again) co_return said.words;
    pause.expires_after(kBetweenTries);
    asio::error_code ec;
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }
  co_return "";
}

}  // namespace assay::launch

std::unique_ptr<assay::launch::Launcher> assay::plan::SlurmOptions::make_launcher(
    const Cluster& cluster, const std::filesystem::path& bindir) const {
  return std::make_unique<launch::SlurmLauncher>(cluster, *this, bindir);
}
