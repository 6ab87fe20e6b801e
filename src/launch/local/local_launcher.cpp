#include "launch/local/local_launcher.h"

#include <array>

#include <unistd.h>

#include "agent/process_tree.h"
#include "core/host.h"

namespace assay::launch {

LocalLauncher::LocalLauncher(const plan::Cluster& cluster, std::filesystem::path agent)
    : agent_(std::move(agent)) {
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

std::filesystem::path LocalLauncher::do_remote_dir(const std::filesystem::path& node_dir) const {
  return node_dir;
}

void LocalLauncher::do_sweep(const std::string& /*host*/, const std::string& round_id) const {
  agent::sweep_round(round_id);
}

}  // namespace assay::launch
