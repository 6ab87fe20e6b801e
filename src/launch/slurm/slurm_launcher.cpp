#include "launch/slurm/slurm_launcher.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "core/error.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::launch {

namespace fs = std::filesystem;

namespace {

constexpr Nanoseconds kDefaultWait = std::chrono::minutes(10);
// The controller waits for the answer: shorter than what agents take for its death.
constexpr Nanoseconds kExplainLimit = std::chrono::seconds(8);
constexpr int kBetweenTries_ms = 250;

}  // namespace

SlurmLauncher::SlurmLauncher(const plan::Cluster& cluster, fs::path bindir)
    : bindir_(std::move(bindir)),
      shared_(cluster.options.value("shared", true)),
      wait_(Nanoseconds(cluster.options.value("wait_ns", kDefaultWait.count()))) {
  job_.options = cluster.options;
  job_.agent = (bindir_ / "assay-agent").string();
  job_.broadcast = !shared_;
  job_.bundle.sha256 = "<hash>";
  job_.name = "assay";
  const char* allocation = std::getenv("SLURM_JOB_ID");
  if (allocation != nullptr) job_.allocation = allocation;
}

void SlurmLauncher::do_prepare(const plan::Plan& plan) {
  for (const char* program : {"srun", "salloc", "squeue"})
    if (!find_program(program))
      throw Error(ErrorKind::environment, std::string(program) + " is not installed", {},
                  "run assay on a login node of the Slurm cluster");
  job_.name = "assay-" + plan.run_id;
  if (job_.broadcast) job_.bundle = make_bundle(bindir_, programs_of(plan));
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

fs::path SlurmLauncher::do_remote_dir(const fs::path& node_dir) const {
  if (shared_) return node_dir;
  const fs::path round = node_dir.parent_path();
  const fs::path plan_case = round.parent_path();
  return fs::path(fmt::format("/tmp/assay-{}/runs", ::getuid())) /
         plan_case.parent_path().filename() / plan_case.filename() / round.filename() /
         node_dir.filename();
}

fs::path SlurmLauncher::do_programs_dir(const Json& hello) const {
  return shared_ ? bindir_ : fs::path(hello.value("bindir", ""));
}

std::vector<std::string> SlurmLauncher::do_agent_command(
    const std::string& host, const Json& hello, const std::vector<std::string>& args) const {
  std::vector<std::string> argv{(do_programs_dir(hello) / "assay-agent").string()};
  argv.insert(argv.end(), args.begin(), args.end());
  return slurm_step_argv(hello.value("job", job_.allocation), host, argv);
}

std::string SlurmLauncher::do_waiting_for() const {
  if (!job_.allocation.empty()) return {};
  for (const SlurmState& state : ask_squeue({"--name=" + job_.name}))
    if (const std::string text = describe_pending(state); !text.empty()) return text;
  return {};
}

std::string SlurmLauncher::do_explain_end(const Json& hello) const {
  const std::string job = hello.value("job", "");
  const std::string which = job.empty() ? "--name=" + job_.name : "--jobs=" + job;
  const std::int64_t deadline = mono_now_ns() + kExplainLimit.count();
  while (mono_now_ns() < deadline) {
    const auto states = ask_squeue({which});
    if (states.empty()) return {};
    // Why it ends is known when it has ended.
    if (states.front().state != "COMPLETING") return describe_end(states.front());
    ::poll(nullptr, 0, kBetweenTries_ms);
  }
  return {};
}

}  // namespace assay::launch
