#include "plan/launchers/slurm_ranks.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/node.h"
#include "core/text.h"

namespace assay::plan {

namespace {

// Slurm alone tells a task its place; programs written for torchrun look for these.
constexpr const char* kNumberRanks =
    "RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID NODE_RANK=$SLURM_NODEID "
    "GROUP_RANK=$SLURM_NODEID; export RANK LOCAL_RANK NODE_RANK GROUP_RANK; exec \"$@\"";

}  // namespace

std::vector<std::string> pyxis_options(const Container& container, const CasePlan& plan) {
  std::vector<std::string> mounts{"{outdir}:{outdir}", "{bindir}:{bindir}:ro"};
  if (plan.workdir.starts_with('/')) mounts.push_back(plan.workdir + ":" + plan.workdir);
  if (plan.data.starts_with('/')) mounts.push_back(plan.data + ":" + plan.data + ":ro");
  mounts.insert(mounts.end(), container.mounts.begin(), container.mounts.end());
  std::vector<std::string> options{"--container-image=" + container.image,
                                   "--container-mounts=" + join(mounts, ","),
                                   "--no-container-mount-home"};
  if (!plan.workdir.empty()) options.push_back("--container-workdir=" + plan.workdir);
  options.insert(options.end(), container.options.begin(), container.options.end());
  return options;
}

std::vector<std::string> srun_ranks(const SlurmOptions& options, const CasePlan& plan) {
  std::vector<std::string> argv{
      "srun",
      "--mpi=" + options.mpi,
      fmt::format("--nodes={}", plan.nodes),
      fmt::format("--ntasks={}", plan.world_size()),
      fmt::format("--ntasks-per-node={}", plan.procs),
      // The agents are a step of the same job, on its first nodes.
      "--relative=0",
      "--distribution=block",
      "--overlap",
      "--mem=0",
      "--cpu-bind=none",
      // Passes on the round's mark, without which leftover processes could not be found.
      "--export=ALL",
      // A failing rank ends the others, as when agents start them.
      "--kill-on-bad-exit=1",
  };
  if (plan.container) {
    const std::vector<std::string> own = pyxis_options(*plan.container, plan);
    argv.insert(argv.end(), own.begin(), own.end());
  }
  argv.insert(argv.end(), options.step.begin(), options.step.end());
  argv.insert(argv.end(), {"/bin/sh", "-c", kNumberRanks, "rank"});
  argv.insert(argv.end(), plan.command.begin(), plan.command.end());
  return argv;
}

std::map<std::string, std::string> SlurmOptions::node_variables(const CasePlan& plan) const {
  return {{"SLURM_TASKS_PER_NODE", fmt::format("{}(x{})", plan.procs, plan.nodes)}};
}

void SlurmOptions::adapt(const config::Node& node, CasePlan& plan) const {
  if (mpi.empty() || plan.launch != LaunchMode::per_rank) return;
  const bool in_pyxis = plan.container && plan.container->runtime == kPyxis;
  for (const std::string& word : plan.command)
    for (const char* name : {"{rank}", "{local_rank}", "{node_rank}", "{host}"})
      if (word.find(name) != std::string::npos)
        node.fail(fmt::format("the command of '{}' has {}, which only Slurm knows when it starts "
                              "the ranks",
                              plan.name, name),
                  "let the program read RANK, LOCAL_RANK, NODE_RANK, or SLURMD_NODENAME");
  if (plan.container && !in_pyxis)
    node.fail("the container of '" + plan.name + "' is not srun's to start",
              "runtime: pyxis, or leave cluster.slurm.mpi out");
  if (in_pyxis && plan.name.find(':') != std::string::npos)
    node.fail("pyxis cannot mount the folder of '" + plan.name + "': a path with a colon",
              "give the case a name without one");
  plan.command = srun_ranks(*this, plan);
  plan.container.reset();
  plan.launch = LaunchMode::head;
}

}  // namespace assay::plan
