#include "launch/agents/launcher.h"

#include <algorithm>

#include "core/error.h"
#include "core/json_access.h"

namespace assay::launch {

std::vector<std::string> Launcher::do_shell_command(const std::string& /*host*/,
                                                    const std::string& /*command*/) const {
  throw Error(ErrorKind::environment, "the nodes of this job are not reached by ssh");
}

std::unique_ptr<Launcher> make_launcher(const plan::Cluster& cluster,
                                        const std::filesystem::path& bindir) {
  const std::filesystem::path agent = bindir / "assay-agent";
  if (!std::filesystem::exists(agent))
    throw Error(ErrorKind::environment, "assay-agent is missing", agent.string(),
                "it is built and installed beside assay; build again");
  return std::visit(
      [&]([[maybe_unused]] const auto& options) -> std::unique_ptr<Launcher> {
        if constexpr (requires { options.make_launcher(cluster, bindir); })
          return options.make_launcher(cluster, bindir);
        else
          throw Error(ErrorKind::usage,
                      "the launcher '" + cluster.launcher() +
                          "' starts no agents: its nodes cannot be asked",
                      {}, "only 'assay run' works with this launcher");
      },
      cluster.options);
}

std::filesystem::path at_home(const std::filesystem::path& path, const agent::Hello& hello) {
  const std::string text = path.string();
  if (!text.starts_with("~/")) return path;
  return std::filesystem::path(hello.home.empty() ? "/" : hello.home) / text.substr(2);
}

std::vector<std::string> device_state_command(const plan::Plan& plan) {
  std::vector<std::string> command;
  for (const Json& word : list_at(object_at(plan.vendor_data, "state"), "command"))
    if (word.is_string()) command.push_back(word.get<std::string>());
  return command;
}

std::vector<std::string> used_hosts(const plan::Plan& plan, const Launcher& launcher) {
  std::vector<std::string> hosts = launcher.hosts(plan);
  int nodes = 1;
  for (const plan::CasePlan& plan_case : plan.cases) {
    nodes = std::max(nodes, plan_case.nodes);
    if (plan_case.nodes <= static_cast<int>(hosts.size())) continue;
    throw Error(ErrorKind::config,
                "case " + plan_case.name + " wants " + std::to_string(plan_case.nodes) +
                    " nodes, but the cluster has " + std::to_string(hosts.size()),
                plan.suite_file, "name more hosts under cluster.hosts, or lower the case's nodes");
  }
  const std::size_t wanted = static_cast<std::size_t>(std::max(nodes, plan.cluster.min_nodes));
  hosts.resize(std::min(wanted, hosts.size()));
  return hosts;
}

}  // namespace assay::launch
