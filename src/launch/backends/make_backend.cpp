#include "launch/backends/make_backend.h"

#include "core/error.h"
#include "core/json.h"
#include "launch/agents/agent_backend.h"
#include "launch/agents/dry_run.h"
#include "launch/backends/job_services.h"

namespace assay::launch {

namespace {

const JobServices* own_services = nullptr;

const JobServices& services() {
  if (own_services == nullptr)
    throw Error(ErrorKind::internal, "this program has no launchers that submit jobs to a service");
  return *own_services;
}

}  // namespace

void use_services(const JobServices& given) {
  own_services = &given;
}

std::unique_ptr<Backend> make_backend(const BackendContext& context,
                                      const std::filesystem::path& bindir) {
  const plan::Cluster& cluster = context.run.plan().cluster;
  if (!cluster.traits.starts_agents) return services().make_backend(context);
  return std::make_unique<AgentBackend>(context, make_launcher(cluster, bindir));
}

DryRun describe_run(const plan::Plan& plan, const std::filesystem::path& bindir,
                    const std::filesystem::path& run_path) {
  if (!plan.cluster.traits.starts_agents) {
    Json jobs = services().describe_jobs(plan);
    return {jobs, dump_pretty(jobs)};
  }
  const auto launcher = make_launcher(plan.cluster, bindir);
  Json execution = describe_execution(plan, *launcher, run_path);
  return {execution, render_execution(execution)};
}

std::optional<Json> check_jobs_of(const plan::Plan& plan,
                                  const std::function<void(const std::string&)>& waiting) {
  if (plan.cluster.traits.starts_agents) return std::nullopt;
  return services().check_jobs(plan, waiting);
}

}  // namespace assay::launch
