#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "plan/plan.h"
#include "rendezvous/ranks.h"

namespace assay::rendezvous {

using Environment = std::map<std::string, std::string>;

/// The variables shared by all ranks of node `node`: ASSAY_*, the vendor's visible-devices
/// variable, under Slurm the nodes' numbers of processes, and the variables of the case's
/// rendezvous flavors (docs/rendezvous.md lists them). `node_dir` is the node's folder as seen
/// there. Pure.
[[nodiscard]] Environment node_environment(const plan::Plan& plan, const plan::CasePlan& plan_case,
                                           const Placement& placement, int node,
                                           const std::filesystem::path& node_dir);

/// The additional variables of one rank. Only for ranks that Assay starts itself: a command that
/// starts its own (torchrun, mpirun) also numbers them.
[[nodiscard]] Environment rank_environment(const plan::Plan& plan, const plan::CasePlan& plan_case,
                                           const Placement& placement, int node, int local_rank);

/// A cluster host's own variables. They override the case's, because they adapt it to this host.
/// Used unchanged, without placeholders.
[[nodiscard]] Environment host_environment(const plan::Plan& plan, const std::string& host);

/// A node's address for the others: the suite's, else the agent's, else the one at which it is
/// reached. Pure.
[[nodiscard]] std::string node_address(const plan::Plan& plan, const Placement& placement,
                                       std::size_t node);

}  // namespace assay::rendezvous
