#pragma once

#include "launch/agents/launcher.h"
#include "launch/agents/slurm/slurm_command.h"

namespace assay::launch {

/// Agents as the tasks of one srun, one a node: within the allocation that assay was started in,
/// or one that salloc makes. When the controller ends, however it does, srun's input closes, the
/// agents end, and salloc gives the allocation back.
class SlurmLauncher : public Launcher {
 public:
  SlurmLauncher(const plan::Cluster& cluster, const plan::SlurmOptions& options,
                std::filesystem::path bindir);

 private:
  void do_prepare(const plan::Plan& plan) override;
  void do_end_jobs(const std::set<std::string>& jobs) const override;
  [[nodiscard]] std::string do_give_back() const override;
  [[nodiscard]] std::vector<std::string> do_hosts(const plan::Plan& plan) const override;
  [[nodiscard]] std::vector<ChannelCommand> do_render(
      const std::vector<std::string>& hosts) const override;
  [[nodiscard]] std::filesystem::path do_remote_dir(const NodePlace& place) const override;
  [[nodiscard]] std::vector<std::string> do_agent_command(
      const std::string& host, const agent::Hello& hello,
      const std::vector<std::string>& args) const override;
  [[nodiscard]] std::filesystem::path do_programs_dir(const agent::Hello& hello) const override;
  [[nodiscard]] asio::awaitable<std::string> do_waiting_for() const override;
  [[nodiscard]] Nanoseconds do_start_limit() const override { return job_.options.wait; }
  [[nodiscard]] asio::awaitable<std::string> do_explain_end(agent::Hello hello) const override;

  SlurmJob job_;
  std::filesystem::path bindir_;
};

}  // namespace assay::launch
