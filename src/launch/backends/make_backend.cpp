#include "launch/backends/make_backend.h"

#include "core/json.h"
#include "launch/agents/agent_backend.h"
#include "launch/agents/dry_run.h"

namespace assay::launch {

std::unique_ptr<Backend> make_backend(const BackendContext& context,
                                      const std::filesystem::path& bindir) {
  const plan::Cluster& cluster = context.run.plan().cluster;
  return std::visit(
      [&]<class Options>(const Options& options) -> std::unique_ptr<Backend> {
        if constexpr (plan::kStartsAgents<Options>)
          return std::make_unique<AgentBackend>(context, make_launcher(cluster, bindir));
        else
          return backend_for(options, context);
      },
      cluster.options);
}

DryRun describe_run(const plan::Plan& plan, const std::filesystem::path& bindir,
                    const std::filesystem::path& run_path) {
  return std::visit(
      [&]<class Options>(const Options& options) -> DryRun {
        if constexpr (plan::kStartsAgents<Options>) {
          const auto launcher = make_launcher(plan.cluster, bindir);
          Json execution = describe_execution(plan, *launcher, run_path);
          return {execution, render_execution(execution)};
        } else {
          Json jobs = describe_jobs(options, plan);
          return {jobs, dump_pretty(jobs)};
        }
      },
      plan.cluster.options);
}

}  // namespace assay::launch
