#pragma once

#include "launch/agents/launcher.h"

namespace assay::launch {

/// Agents as child processes on this machine: one for every host named in the suite (several
/// "hosts" on one machine are for trying out multi-node cases), or one for this machine.
class LocalLauncher : public Launcher {
 public:
  LocalLauncher(const plan::Cluster& cluster, std::filesystem::path agent);

 private:
  [[nodiscard]] std::vector<std::string> do_hosts(const plan::Plan& /*plan*/) const override {
    return hosts_;
  }
  [[nodiscard]] std::vector<ChannelCommand> do_render(
      const std::vector<std::string>& hosts) const override;
  [[nodiscard]] std::vector<std::string> do_agent_command(
      const std::string& host, const agent::Hello& hello,
      const std::vector<std::string>& args) const override;

  std::vector<std::string> hosts_;
  std::filesystem::path agent_;
};

}  // namespace assay::launch
