#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "plan/plan.h"
#include "rendezvous/ranks.h"

namespace assay::rendezvous {

using Environment = std::map<std::string, std::string>;

/// The variables that all ranks of node `node` have in common: ASSAY_*, the vendor's
/// visible-devices variable, under Slurm how many processes the nodes have, and the variables of
/// the case's flavors of rendezvous (docs/rendezvous.md lists them). `node_dir` is the node's
/// folder as seen there. Pure.
[[nodiscard]] Environment node_environment(const plan::Plan& plan, const plan::CasePlan& plan_case,
                                           const Placement& placement, int node,
                                           const std::filesystem::path& node_dir);

/// The variables that one rank has besides. Only for ranks that Assay starts itself: a command that
/// starts its own (torchrun, mpirun) numbers them too.
[[nodiscard]] Environment rank_environment(const plan::Plan& plan, const plan::CasePlan& plan_case,
                                           const Placement& placement, int node, int local_rank);

/// The variables that a host of the cluster has of its own: they win over the case's, because they
/// say what is the case's on this host. Taken as they are, without placeholders.
[[nodiscard]] Environment host_environment(const plan::Plan& plan, const std::string& host);

/// The address of a node for the others: what the suite says, else what its agent says, else under
/// which it is reached. Pure.
[[nodiscard]] std::string node_address(const plan::Plan& plan, const Placement& placement,
                                       std::size_t node);

}  // namespace assay::rendezvous
