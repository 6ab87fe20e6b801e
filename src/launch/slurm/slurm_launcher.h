#pragma once

#include "launch/launcher.h"
#include "launch/slurm/slurm_command.h"

namespace assay::launch {

/// Agents as the tasks of one srun, one a node: within the allocation that assay was started in,
/// or one that salloc makes. When the controller ends, however it does, srun's input closes, the
/// agents end, and salloc gives the allocation back.
class SlurmLauncher : public Launcher {
 public:
  SlurmLauncher(const plan::Cluster& cluster, std::filesystem::path bindir);

 private:
  [[nodiscard]] std::string_view do_name() const override { return "slurm"; }
  void do_prepare(const plan::Plan& plan) override;
  [[nodiscard]] std::vector<std::string> do_hosts(const plan::Plan& plan) const override;
  [[nodiscard]] bool do_hosts_are_chosen_elsewhere() const override { return true; }
  [[nodiscard]] std::vector<ChannelCommand> do_render(
      const std::vector<std::string>& hosts) const override;
  [[nodiscard]] std::filesystem::path do_remote_dir(
      const std::filesystem::path& node_dir) const override;
  [[nodiscard]] bool do_collects() const override { return !shared_; }
  [[nodiscard]] std::vector<std::string> do_agent_command(
      const std::string& host, const Json& hello,
      const std::vector<std::string>& args) const override;
  [[nodiscard]] std::filesystem::path do_programs_dir(const Json& hello) const override;
  [[nodiscard]] std::string do_waiting_for() const override;
  [[nodiscard]] Nanoseconds do_start_limit() const override { return wait_; }
  [[nodiscard]] std::string do_explain_end(const Json& hello) const override;

  SlurmJob job_;
  std::filesystem::path bindir_;
  bool shared_ = true;
  Nanoseconds wait_;
};

}  // namespace assay::launch
