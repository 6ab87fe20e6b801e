#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace assay::rendezvous {

/// Where a round runs: hosts in node order, and how its ranks find each other.
struct Placement {
  std::vector<std::string> hosts;        ///< of the round's nodes; hosts[0] is the master
  std::vector<std::string> addresses{};  ///< of the nodes, numeric, as their agents tell; or empty
  std::string master_addr;
  int master_port = 0;
  int round = 1;
  std::string run_id;
  std::vector<std::string> bindirs;  ///< of the nodes, where they are not known from the plan
  /// Of the nodes, where the round's ssh is; empty: there is none.
  std::vector<std::string> ssh_folders{};
  std::map<std::string, std::string> env;    ///< of every rank besides: what no file may hold
  std::map<std::string, std::string> files;  ///< that every node gets in its folder: name → content
};

/// One process to start on a node, completely resolved.
struct RankCommand {
  int rank =
      0;  ///< node_rank × procs + local rank; per-node and head commands carry their first rank
  int local_rank = 0;
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  ///< what differs between the ranks of a node
  std::vector<std::string> cleanup;        ///< removes what outlives the command; may be empty
  /// What runs inside of the container that `argv` starts, and the folders of the node that are
  /// there: path inside → path on the node. Nothing: there is no container.
  std::vector<std::string> contained{};
  std::optional<std::map<std::string, std::string>> mounts{};
};

/// What one node does in a round.
struct NodeCommands {
  int node = 0;
  std::string host;
  std::map<std::string, std::string> env;  ///< common to the node's ranks
  std::vector<RankCommand> ranks;
  /// Besides `env`, of what programs of other nodes start here over ssh.
  std::map<std::string, std::string> visitor_env{};
  /// The command that runs `assay-agent --visitors` in a container of the case, where what other
  /// nodes start runs; and what removes it. Empty: they run on the node itself.
  std::vector<std::string> visitors{};
  std::vector<std::string> visitors_cleanup{};
};

/// Puts a round on the first hosts; a master port of 0 is left for the caller to choose. Pure.
/// Throws Error of kind config when a file of the round (rank table, hostfile) cannot be made.
[[nodiscard]] Placement place(const plan::Plan& plan, const plan::CasePlan& plan_case,
                              const std::vector<std::string>& hosts, int round);

/// Resolves what node `node` runs: the environments of environment.h, the case's own (which wins),
/// the host's (which wins over that), and the command's placeholders. `node_dir` is the node's
/// evidence folder as seen there. Pure. Throws Error of kind config for an unknown placeholder.
[[nodiscard]] NodeCommands resolve_node(const plan::Plan& plan, const plan::CasePlan& plan_case,
                                        const Placement& placement, int node,
                                        const std::filesystem::path& node_dir);

/// Whether programs of the case may want to reach its other nodes over ssh.
[[nodiscard]] bool wants_ssh(const plan::CasePlan& plan_case);

/// What programs of a round may call its nodes, and which node that is: names and addresses of the
/// hosts, also those for InfiniBand, and what the Apulis platform calls them ("worker-1"). Pure.
[[nodiscard]] std::map<std::string, int> node_names(const plan::Plan& plan,
                                                    const Placement& placement);

}  // namespace assay::rendezvous
