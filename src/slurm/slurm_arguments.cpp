#include "slurm/slurm_arguments.h"

#include <fmt/format.h>

#include "core/parse_number.h"
#include "slurm/job.h"
#include "slurm/slurm_node.h"

namespace assay::slurm {

std::vector<std::string> squeue_argv(const JobFilter& which) {
  std::vector<std::string> argv{"squeue", "--noheader", "--all", "--states=all",
                                "--format=" + job_format()};
  if (which.user) argv.push_back(fmt::format("--user={}", *which.user));
  if (!which.name.empty()) argv.push_back("--name=" + which.name);
  if (!which.id.empty()) argv.push_back("--jobs=" + whole_job(which.id));
  return argv;
}

std::vector<std::string> sinfo_argv() {
  return {"sinfo", "--noheader", "--all", "--Node", "--format=" + node_format()};
}

std::vector<std::string> sacct_argv(const std::string& id) {
  return {"sacct",
          "--jobs=" + id,
          "--allocations",
          "--noheader",
          "--parsable2",
          "--duplicates",
          "--format=" + accounting_format()};
}

std::vector<std::string> allocation_options(const AllocationRequest& request) {
  std::vector<std::string> argv{"--job-name=" + request.name,
                                fmt::format("--nodes={0}-{0}", request.nodes),
                                "--ntasks-per-node=1"};
  for (const auto& [name, value] : request.plain)
    if (!value.empty()) argv.push_back(fmt::format("--{}={}", name, value));
  if (request.exclusive) argv.emplace_back("--exclusive");
  argv.insert(argv.end(), request.extra.begin(), request.extra.end());
  return argv;
}

std::vector<std::string> srun_argv(const Step& step) {
  std::vector<std::string> argv{"srun"};
  if (!step.job.empty()) argv.push_back("--jobid=" + step.job);
  if (step.component) argv.push_back(fmt::format("--het-group={}", *step.component));
  argv.insert(argv.end(),
              {fmt::format("--nodes={}", step.nodes), fmt::format("--ntasks={}", step.nodes)});
  if (!step.host.empty()) argv.push_back("--nodelist=" + step.host);
  argv.insert(argv.end(), {"--mem=0", "--cpu-bind=none", "--overlap"});
  argv.insert(argv.end(), step.options.begin(), step.options.end());
  return argv;
}

std::vector<std::string> step_argv(const std::string& id, const std::string& host,
                                   const std::vector<std::string>& argv) {
  Step step{.job = whole_job(id), .host = host, .options = {"--quiet"}};
  if (const auto plus = id.find('+'); plus != std::string::npos)
    step.component = parse_number<int>(id.substr(plus + 1));
  std::vector<std::string> out = srun_argv(step);
  out.insert(out.end(), argv.begin(), argv.end());
  return out;
}

std::string whole_job(const std::string& id) {
  return id.substr(0, id.find('+'));
}

}  // namespace assay::slurm
