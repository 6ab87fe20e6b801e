#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace assay::rendezvous {

/// Where a round runs, as hosts in node order, and how its ranks find each other.
struct Placement {
  std::vector<std::string> hosts;        ///< of the round's nodes; hosts[0] is the master
  std::vector<std::string> addresses{};  ///< the nodes' numeric ones, from their agents; or empty
  std::string master_addr;
  int master_port = 0;
  int round = 1;
  std::string run_id;
  std::vector<std::string> bindirs;  ///< of the nodes, if the plan does not give them
  /// The nodes' folders of the round's ssh; empty: none.
  std::vector<std::string> ssh_folders{};
  std::map<std::string, std::string> env;    ///< for every rank: values that must not be in files
  std::map<std::string, std::string> files;  ///< for every node's folder: name → content
};

/// A fully resolved process to start on a node.
struct RankCommand {
  int rank = 0;  ///< node_rank × procs + local rank; the first rank for per-node and head commands
  int local_rank = 0;
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  ///< variables that differ between a node's ranks
  std::vector<std::string> cleanup;        ///< removes what outlives the command; may be empty
  /// The command inside the container that `argv` starts, and the node's folders in it: path inside
  /// → path on the node. Nothing: no container.
  std::vector<std::string> contained{};
  std::optional<std::map<std::string, std::string>> mounts{};
};

/// A node's part in a round.
struct NodeCommands {
  int node = 0;
  std::string host;
  std::map<std::string, std::string> env;  ///< shared by the node's ranks
  std::vector<RankCommand> ranks;
  /// Variables for programs that other nodes start here over ssh, in addition to `env`.
  std::map<std::string, std::string> visitor_env{};
  /// The command that runs `assay-agent --visitors` in a container of the case, for programs
  /// started from other nodes, and the one that removes it. Empty: they run on the node itself.
  std::vector<std::string> visitors{};
  std::vector<std::string> visitors_cleanup{};
};

/// The folder in which the ranks of a host start: the case's, with the host's name for {host}.
[[nodiscard]] std::string workdir_on(const plan::CasePlan& plan_case, const std::string& host);

/// Places a round on the first hosts; the caller chooses a master port if it is 0. Pure. Throws
/// Error of kind config if a file of the round (rank table, hostfile) cannot be made.
[[nodiscard]] Placement place(const plan::Plan& plan, const plan::CasePlan& plan_case,
                              const std::vector<std::string>& hosts, int round);

/// Resolves what node `node` runs: the environments of environment.h, overridden by the case's own,
/// which the host's overrides, and the command's placeholders. `node_dir` is the node's evidence
/// folder as seen there. Pure. Throws Error of kind config for an unknown placeholder.
[[nodiscard]] NodeCommands resolve_node(const plan::Plan& plan, const plan::CasePlan& plan_case,
                                        const Placement& placement, int node,
                                        const std::filesystem::path& node_dir);

/// Whether the case's programs may want to reach other nodes over ssh.
[[nodiscard]] bool wants_ssh(const plan::CasePlan& plan_case);

/// The names by which a round's programs may address its nodes: the hosts' names and addresses,
/// including those for InfiniBand, and the Apulis platform's names ("worker-1"). Pure.
[[nodiscard]] std::map<std::string, int> node_names(const plan::Plan& plan,
                                                    const Placement& placement);

}  // namespace assay::rendezvous
