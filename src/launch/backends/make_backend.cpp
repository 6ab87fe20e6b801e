#include "launch/backends/make_backend.h"

#include "core/json.h"
#include "launch/agents/agent_backend.h"
#include "launch/agents/dry_run.h"

namespace assay::launch {

std::unique_ptr<Backend> make_backend(const BackendContext& context,
                                      const std::filesystem::path& bindir) {
  const plan::Cluster& cluster = context.run.plan().cluster;
  return std::visit(
      [&]([[maybe_unused]] const auto& options) -> std::unique_ptr<Backend> {
        if constexpr (requires { options.make_backend(context); })
          return options.make_backend(context);
        else
          return std::make_unique<AgentBackend>(context, make_launcher(cluster, bindir));
      },
      cluster.options);
}

DryRun describe_run(const plan::Plan& plan, const std::filesystem::path& bindir,
                    const std::filesystem::path& run_path) {
  return std::visit(
      [&]([[maybe_unused]] const auto& options) -> DryRun {
        if constexpr (requires { options.describe_jobs(plan); }) {
          Json jobs = options.describe_jobs(plan);
          return {jobs, dump_pretty(jobs)};
        } else {
          const auto launcher = make_launcher(plan.cluster, bindir);
          Json execution = describe_execution(plan, *launcher, run_path);
          return {execution, render_execution(execution)};
        }
      },
      plan.cluster.options);
}

std::optional<Json> check_jobs_of(const plan::Plan& plan,
                                  const std::function<void(const std::string&)>& waiting) {
  return std::visit(
      [&]([[maybe_unused]] const auto& options) -> std::optional<Json> {
        if constexpr (requires { options.check_jobs(plan, waiting); })
          return options.check_jobs(plan, waiting);
        else
          return std::nullopt;
      },
      plan.cluster.options);
}

}  // namespace assay::launch
