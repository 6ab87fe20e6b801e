#include "launch/backends/make_backend.h"

#include "core/overloaded.h"
#include "launch/agents/agent_backend.h"
#include "launch/agents/dry_run.h"
#include "launch/modelarts/cloud_job_spec.h"
#include "launch/modelarts/modelarts_backend.h"

namespace assay::launch {

std::unique_ptr<Backend> make_backend(const BackendContext& context,
                                      const std::filesystem::path& bindir) {
  using Made = std::unique_ptr<Backend>;
  const plan::Cluster& cluster = context.run.plan().cluster;
  return std::visit(Overloaded{[&](const plan::ModelArtsOptions& options) -> Made {
                                 return std::make_unique<ModelArtsBackend>(context, options);
                               },
                               [&](const auto&) -> Made {
                                 return std::make_unique<AgentBackend>(
                                     context, make_launcher(cluster, bindir));
                               }},
                    cluster.options);
}

DryRun describe_run(const plan::Plan& plan, const std::filesystem::path& bindir,
                    const std::filesystem::path& run_path) {
  return std::visit(Overloaded{[&](const plan::ModelArtsOptions&) -> DryRun {
                                 Json jobs = describe_cloud_execution(plan);
                                 return {jobs, dump_pretty(jobs)};
                               },
                               [&](const auto&) -> DryRun {
                                 const auto launcher = make_launcher(plan.cluster, bindir);
                                 Json execution = describe_execution(plan, *launcher, run_path);
                                 return {execution, render_execution(execution)};
                               }},
                    plan.cluster.options);
}

}  // namespace assay::launch
