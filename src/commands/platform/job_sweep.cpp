#include "commands/platform/job_sweep.h"

#include <memory>
#include <string>
#include <vector>

#include "core/host.h"
#include "core/subprocess.h"
#include "launch/agents/fleet.h"
#include "launch/agents/launcher.h"
#include "launch/agents/left_agents.h"
#include "rendezvous/ranks.h"
#include "store/open_rounds.h"
#include "store/run_dir.h"

namespace assay::commands {

namespace {

using store::OpenRound;

constexpr Nanoseconds kNodeLimit = std::chrono::seconds(30);

/// The commands that remove the round's containers from a node.
std::vector<std::vector<std::string>> container_cleanups(const store::RunDir& run,
                                                         const OpenRound& round, int node) {
  std::vector<std::vector<std::string>> out;
  const plan::CasePlan* plan_case = run.plan().find_case(round.name.case_name);
  if (plan_case == nullptr || !plan_case->container ||
      static_cast<int>(round.hosts.size()) < plan_case->nodes || node >= plan_case->nodes)
    return out;
  const rendezvous::Placement placement =
      rendezvous::place(run.plan(), *plan_case, round.hosts, round.name.round);
  for (const rendezvous::RankCommand& rank :
       rendezvous::resolve_node(run.plan(), *plan_case, placement, node, run.path()).ranks)
    if (!rank.cleanup.empty()) out.push_back(rank.cleanup);
  return out;
}

}  // namespace

void sweep_open_rounds(const std::filesystem::path& path) {
  const store::RunDir run = store::RunDir::open(path);
  const std::vector<Json> journal = store::Journal::read(run.journal_file());
  const std::vector<OpenRound> open = store::open_rounds(journal);
  launch::AgentsByHost agents = launch::left_agents(journal);
  if (open.empty() && agents.empty()) return;
  CommandOptions options;
  options.timeout = kNodeLimit;
  const auto launcher = launch::make_launcher(run.plan().cluster, program_folder());
  launcher->prepare(run.plan());
  const auto sweep = [&](const std::string& host, const launch::Remains& remains) {
    (void)run_command(launcher->agent_command(host, agent::Hello{}, remains.sweep_args()), options);
  };
  for (const OpenRound& round : open) {
    if (round.hosts.empty())
      (void)run_command({(program_folder() / "assay-agent").string(), "--sweep", round.id},
                        options);
    for (int node = 0; node < static_cast<int>(round.hosts.size()); ++node) {
      const std::string& host = round.hosts[static_cast<std::size_t>(node)];
      const auto left = agents.extract(host);
      launch::Remains remains{round.id, {}, container_cleanups(run, round, node)};
      if (left) remains.agents.assign(left.mapped().begin(), left.mapped().end());
      sweep(host, remains);
    }
  }
  // Includes agents that were not serving a round at the time.
  for (const auto& [host, left] : agents) sweep(host, {.agents = {left.begin(), left.end()}});
}

}  // namespace assay::commands
