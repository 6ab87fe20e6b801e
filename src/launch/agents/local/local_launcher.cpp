#include "launch/agents/local/local_launcher.h"

#include "core/host.h"

namespace assay::launch {

LocalLauncher::LocalLauncher(const plan::Cluster& cluster, std::filesystem::path agent)
    : Launcher(cluster), agent_(std::move(agent)) {
  for (const plan::Host& host : cluster.hosts) hosts_.push_back(host.name);
  if (hosts_.empty()) hosts_.push_back(host_name());
}

std::vector<ChannelCommand> LocalLauncher::do_render(const std::vector<std::string>& hosts) const {
  std::vector<ChannelCommand> commands;
  for (int node = 0; node < static_cast<int>(hosts.size()); ++node)
    commands.push_back({{agent_.string(), "--node", std::to_string(node)},
                        {node},
                        "host " + hosts[static_cast<std::size_t>(node)]});
  return commands;
}

std::vector<std::string> LocalLauncher::do_agent_command(
    const std::string& /*host*/, const agent::Hello& /*hello*/,
    const std::vector<std::string>& args) const {
  std::vector<std::string> argv{agent_.string()};
  argv.insert(argv.end(), args.begin(), args.end());
  return argv;
}

}  // namespace assay::launch

std::unique_ptr<assay::launch::Launcher> assay::plan::LocalOptions::make_launcher(
    const Cluster& cluster, const std::filesystem::path& bindir) const {
  return std::make_unique<launch::LocalLauncher>(cluster, bindir / "assay-agent");
}
