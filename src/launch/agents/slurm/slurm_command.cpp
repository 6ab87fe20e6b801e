#include "launch/agents/slurm/slurm_command.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/subprocess.h"
#include "core/text.h"

namespace assay::launch {

std::vector<std::string> allocation_options(const SlurmJob& job) {
  std::vector<std::string> argv{"--job-name=" + job.name,
                                fmt::format("--nodes={}-{}", job.nodes, job.nodes),
                                "--ntasks-per-node=1"};
  plan::SlurmOptions::each_plain(job.options, [&](const char* name, const std::string& value) {
    if (!value.empty()) argv.push_back(fmt::format("--{}={}", name, value));
  });
  if (job.options.exclusive) argv.emplace_back("--exclusive");
  argv.insert(argv.end(), job.options.extra.begin(), job.options.extra.end());
  return argv;
}

namespace {

std::vector<std::string> step(const SlurmJob& job) {
  return {"srun", fmt::format("--nodes={}", job.nodes), fmt::format("--ntasks={}", job.nodes),
          "--ntasks-per-node=1", "--distribution=block", "--cpu-bind=none", "--mem=0", "--overlap",
          // The loss of a node or an agent is the controller's business, not the end of the others.
          "--kill-on-bad-exit=0", "--no-kill", "--wait=0", "--job-name=" + job.name};
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

}  // namespace

std::vector<std::string> slurm_argv(const SlurmJob& job) {
  std::vector<std::string> srun = step(job);
  if (!job.allocation.empty()) srun.insert(srun.begin() + 1, "--jobid=" + job.allocation);
  if (!job.broadcast()) {
    srun.insert(srun.end(), {job.agent, "--node", "slurm"});
  } else {
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

std::vector<std::string> squeue_argv(std::vector<std::string> which) {
  which.insert(which.begin(),
               {"squeue", "--noheader", "--format=" + slurm::job_format(), "--states=all"});
  return which;
}

std::vector<slurm::Job> ask_squeue(std::vector<std::string> which) {
  CommandOptions options;
  options.timeout = std::chrono::seconds(3);
  return slurm::parse_jobs(run_command(squeue_argv(std::move(which)), options).out);
}

}  // namespace assay::launch
