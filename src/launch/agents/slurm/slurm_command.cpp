#include "launch/agents/slurm/slurm_command.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "slurm/slurm_arguments.h"

namespace assay::launch {

namespace {

// What a component does not say for itself is as for the whole job.
std::vector<std::string> component_options(const SlurmJob& job, plan::SlurmComponent own) {
  slurm::AllocationRequest request{
      .name = job.name, .nodes = own.nodes, .exclusive = job.options.exclusive};
  std::map<std::string, std::string> common;
  plan::SlurmRequest::each_plain(
      job.options, [&](const char* name, const std::string& value) { common[name] = value; });
  plan::SlurmRequest::each_plain(own, [&](const char* name, const std::string& value) {
    request.plain.emplace_back(name, value.empty() ? common[name] : value);
  });
  request.extra = job.options.extra;
  request.extra.insert(request.extra.end(), own.extra.begin(), own.extra.end());
  return slurm::allocation_options(request);
}

}  // namespace

std::vector<std::string> allocation_options(const SlurmJob& job) {
  if (job.options.components.empty()) {
    plan::SlurmComponent all;
    all.nodes = job.nodes;
    return component_options(job, all);
  }
  std::vector<std::string> argv;
  for (const plan::SlurmComponent& component : job.options.components) {
    if (!argv.empty()) argv.emplace_back(":");
    for (std::string& word : component_options(job, component)) argv.push_back(std::move(word));
  }
  return argv;
}

namespace {

std::vector<std::string> agents_step(const SlurmJob& job, int nodes,
                                     std::optional<int> component = std::nullopt) {
  return slurm::srun_argv(
      {.job = job.allocation,
       .component = component,
       .nodes = nodes,
       .options = {"--ntasks-per-node=1", "--distribution=block",
                   // The loss of a node or an agent is the controller's
                   // business, not the end of the others.
                   "--kill-on-bad-exit=0", "--no-kill", "--wait=0", "--job-name=" + job.name}});
}

// Unpacked beside the tar that sbcast brought, in a folder that only this user can enter.
std::string unpack_and_start(const SlurmJob& job, const std::string& tar) {
  const std::string folder = "/tmp/assay-$(id -u)/bin-" + job.bundle.sha256.substr(0, 16);
  return fmt::format(
      "umask 077; d={}; if [ -x \"$d/assay-agent\" ]; then :; else t=\"$d.$$\"; mkdir -p \"$t\" && "
      "echo \"{}  {}\" | sha256sum -c - > /dev/null && tar -xf {} -C \"$t\" && "
      "{{ mv -T \"$t\" \"$d\" 2> /dev/null || rm -rf \"$t\"; }} || [ -x \"$d/assay-agent\" ] || "
      "exit 96; fi; rm -f {}; "
      "exec \"$d/assay-agent\" --node slurm",
      folder, job.bundle.sha256, tar, tar, tar);
}

std::vector<std::string> merged_steps(const SlurmJob& job) {
  Json commands = Json::array();
  int first = 0;
  for (std::size_t i = 0; i < job.components.size() && first < job.nodes; ++i) {
    const int nodes = std::min(job.components[i], job.nodes - first);
    std::vector<std::string> srun = agents_step(job, nodes, static_cast<int>(i));
    srun.insert(srun.end(), {job.agent, "--node", fmt::format("slurm:{}+{}", i, first)});
    commands.push_back(srun);
    first += nodes;
  }
  return {job.agent, "--merge", dump_line(commands)};
}

}  // namespace

std::vector<std::string> slurm_argv(const SlurmJob& job) {
  std::vector<std::string> srun;
  if (!job.components.empty()) {
    srun = merged_steps(job);
  } else {
    srun = agents_step(job, job.nodes);
    if (!job.broadcast()) srun.insert(srun.end(), {job.agent, "--node", "slurm"});
  }
  if (job.broadcast()) {
    const std::string tar = "/tmp/assay-" + job.bundle.sha256.substr(0, 16) + "-$SLURM_JOB_ID.tar";
    const std::string start = "exec /bin/sh -c " + shell_quote(unpack_and_start(job, tar));
    // sbcast has to run within the allocation; the shell then becomes srun.
    const std::string script = fmt::format(
        "{}sbcast --force {} \"{}\" && exec {} /bin/sh -c {}",
        job.allocation.empty() ? "" : "SLURM_JOB_ID=" + job.allocation + "; export SLURM_JOB_ID; ",
        shell_quote(job.bundle.file.string()), tar, shell_join(srun), shell_quote(start));
    srun = {"/bin/sh", "-c", script};
  }
  if (!job.allocation.empty()) return srun;
  std::vector<std::string> argv{"salloc"};
  for (std::string& word : allocation_options(job)) argv.push_back(std::move(word));
  argv.insert(argv.end(), srun.begin(), srun.end());
  return argv;
}

std::vector<int> own_components() {
  const auto number = [](const std::string& name) {
    const char* text = std::getenv(name.c_str());
    return text == nullptr ? std::nullopt : parse_number<int>(text, 1);
  };
  const auto size = number("SLURM_HET_SIZE");
  std::vector<int> out;
  for (int i = 0; size && i < *size; ++i) {
    const std::string name = fmt::format("SLURM_JOB_NUM_NODES_HET_GROUP_{}", i);
    const auto nodes = number(name);
    if (!nodes)
      throw Error(ErrorKind::environment,
                  fmt::format("SLURM_HET_SIZE is {}, but {} is not a number of nodes", *size, name),
                  {}, "run assay within the allocation itself, with its environment");
    out.push_back(*nodes);
  }
  return out.size() > 1 ? out : std::vector<int>{};
}

}  // namespace assay::launch
