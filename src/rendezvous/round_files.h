#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "rendezvous/hostfile.h"
#include "rendezvous/rank_table.h"

namespace assay::rendezvous {

/// Names of a round's files in a node's folder.
inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kRankTableFile = "hccl.json";
inline constexpr const char* kHostfile = "hostfile";
inline constexpr const char* kIbConfig = "ib_config";

/// The form of rank tables requested by the cluster, or else 1.2 if all its hosts are in
/// super-pods, and 1.0 otherwise.
[[nodiscard]] TableForm table_form(const plan::Cluster& cluster);

/// The suite's entries for these hosts, in order. A host that the suite does not list has no device
/// IPs and its name as server_id. Pure.
[[nodiscard]] std::vector<ServerSpec> server_specs(const plan::Cluster& cluster,
                                                   const std::vector<std::string>& hosts);

/// The hosts with `slots` each, under the names by which other machines reach them, or for the form
/// ib under their InfiniBand names. A host reached at an IPv6 address keeps its name. Pure.
[[nodiscard]] std::vector<HostSlots> host_slots(const plan::Cluster& cluster,
                                                const std::vector<std::string>& hosts, int slots,
                                                HostfileForm form);

/// A node's name in the round's ssh, independent of its host's name: "worker-0".
[[nodiscard]] std::string place_name(std::size_t node);

/// Whether the nodes get a rank table: the case requests one, or what an Apulis job has, and the
/// device IPs of all its hosts are known. Pure.
[[nodiscard]] bool has_rank_table(const plan::Cluster& cluster, const plan::CasePlan& plan_case,
                                  const std::vector<std::string>& hosts);

/// The files for every node of a round, by name: config.json, and by flavor hccl.json, hostfile and
/// ib_config. Pure. Throws Error of kind config if a rank table is requested and a host's device
/// IPs are unknown or break a rule, or if a host's name does not fit a hostfile.
[[nodiscard]] std::map<std::string, std::string> round_files(const plan::Plan& plan,
                                                             const plan::CasePlan& plan_case,
                                                             const std::vector<std::string>& hosts);

}  // namespace assay::rendezvous
