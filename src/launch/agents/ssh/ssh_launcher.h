#pragma once

#include <optional>

#include "core/scratch_folder.h"
#include "launch/agents/bundle.h"
#include "launch/agents/launcher.h"
#include "launch/agents/ssh/ssh_command.h"

namespace assay::launch {

/// Agents on hosts that the system's OpenSSH reaches, as set in the user's ssh_config. The programs
/// are copied once per content into a cache on the host; what a round leaves is fetched from there.
/// Where hosts pass large programs on to each other (SshOptions::bundles), the agent goes there
/// alone at first, and the programs follow by missing_programs().
class SshLauncher : public Launcher {
 public:
  SshLauncher(const plan::Cluster& cluster, const plan::SshOptions& options,
              std::filesystem::path bindir);

 private:
  void do_prepare(const plan::Plan& plan) override;
  [[nodiscard]] std::vector<std::string> do_hosts(const plan::Plan& plan) const override;
  [[nodiscard]] std::vector<ChannelCommand> do_render(
      const std::vector<std::string>& hosts) const override;
  [[nodiscard]] std::filesystem::path do_remote_dir(const NodePlace& place) const override;
  [[nodiscard]] std::vector<std::string> do_agent_command(
      const std::string& host, const agent::Hello& hello,
      const std::vector<std::string>& args) const override;
  [[nodiscard]] std::vector<std::string> do_shell_command(
      const std::string& host, const std::string& command) const override;
  [[nodiscard]] std::filesystem::path do_programs_dir(const agent::Hello& hello) const override;
  [[nodiscard]] std::optional<MissingPrograms> do_missing_programs(
      const std::string& host, int node, const agent::Hello& hello) const override;
  [[nodiscard]] std::optional<Nanoseconds> do_retry_pause(const std::string& reason, int attempt,
                                                          Nanoseconds since) const override;
  [[nodiscard]] Nanoseconds do_start_limit() const override;

  [[nodiscard]] int longest_connect_s() const;
  [[nodiscard]] const SshTarget& target(const std::string& host) const;

  [[nodiscard]] bool shares(const plan::Plan& plan, const Bundle& programs) const;
  [[nodiscard]] bool is_complete(const agent::Hello& hello) const;

  std::vector<SshTarget> targets_;
  plan::SshBundles bundles_;
  std::filesystem::path bindir_;
  Bundle bundle_;    // of prepare(): what an agent needs to start
  Bundle programs_;  // of prepare(): the same with what follows; no hash: nothing does
  std::optional<ScratchFolder> sockets_;  // the shared connections'; made by prepare()
  std::string control_path_;              // in it
};

}  // namespace assay::launch
