#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/agents/ssh/ssh_command.h"
#include "plan/plan.h"

namespace assay::launch {

/// Pure: asks ssh, without a connection, what its configuration makes of a host.
[[nodiscard]] std::vector<std::string> ssh_query_argv(const SshTarget& target);

/// Pure: the host that ssh connects to by what that printed; empty: it does not say.
[[nodiscard]] std::string queried_host(std::string_view printed);

/// Notes for every host of a cluster over ssh to which address its name leads, where that is an
/// alias of ssh_config (Host::reached): nobody else knows the alias. Left as they are: hosts of
/// which ssh does not tell within five seconds, those that lead to this machine, as tunnels do, and
/// those that lead to the same address, which only their ports tell apart.
void resolve_ssh_names(plan::Cluster& cluster);

}  // namespace assay::launch
