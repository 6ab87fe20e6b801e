#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace assay::launch {

/// A command whose stdin and stdout carry the protocol of one or more agents.
struct ChannelCommand {
  std::vector<std::string> argv;
  std::vector<int> nodes;  ///< the nodes whose agents speak on it
  std::string label;       ///< for messages: "host node1"
};

/// How agents come to the nodes, and what they leave comes back. Public functions are not virtual;
/// a launcher implements the do_ functions.
class Launcher {
 public:
  virtual ~Launcher() = default;

  [[nodiscard]] std::string_view name() const { return do_name(); }

  /// The hosts of the plan's nodes, in node order.
  [[nodiscard]] std::vector<std::string> hosts() const { return do_hosts(); }

  /// Pure: the commands that start the agents of `hosts` (node i runs on hosts[i]).
  [[nodiscard]] std::vector<ChannelCommand> render(const std::vector<std::string>& hosts) const {
    return do_render(hosts);
  }

  /// Where the agent on the node shall write what belongs into `node_dir` of the run directory.
  [[nodiscard]] std::filesystem::path remote_dir(const std::filesystem::path& node_dir) const {
    return do_remote_dir(node_dir);
  }

  /// Kills what the round left on `host` after its agent was lost; bounded.
  void sweep(const std::string& host, const std::string& round_id) const {
    do_sweep(host, round_id);
  }

 private:
  [[nodiscard]] virtual std::string_view do_name() const = 0;
  [[nodiscard]] virtual std::vector<std::string> do_hosts() const = 0;
  [[nodiscard]] virtual std::vector<ChannelCommand> do_render(
      const std::vector<std::string>& hosts) const = 0;
  [[nodiscard]] virtual std::filesystem::path do_remote_dir(
      const std::filesystem::path& node_dir) const = 0;
  virtual void do_sweep(const std::string& host, const std::string& round_id) const = 0;
};

struct LauncherInfo {
  std::string name;
  std::string description;
};
[[nodiscard]] const std::vector<LauncherInfo>& launcher_catalogue();

/// `bindir` holds assay-agent. Throws Error of kind environment for a launcher that this build does
/// not have.
[[nodiscard]] std::unique_ptr<Launcher> make_launcher(const plan::Cluster& cluster,
                                                      const std::filesystem::path& bindir);

/// Throws Error of kind config when the case wants more nodes than there are hosts.
void require_hosts(const plan::CasePlan& plan_case, const std::vector<std::string>& hosts,
                   const std::string& suite_file);

}  // namespace assay::launch
