#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "rendezvous/hostfile.h"
#include "rendezvous/rank_table.h"

namespace assay::rendezvous {

/// Names of the files of a round in a node's folder.
inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kRankTableFile = "hccl.json";
inline constexpr const char* kHostfile = "hostfile";
inline constexpr const char* kIbConfig = "ib_config";

/// The form of rank tables that the cluster asks for, or else 1.2 when all its hosts are in
/// super-pods, and 1.0.
[[nodiscard]] TableForm table_form(const plan::Cluster& cluster);

/// The suite's entries for these hosts, in their order. A host that the suite does not list has
/// no device IPs, and its name as server_id. Pure.
[[nodiscard]] std::vector<ServerSpec> server_specs(const plan::Cluster& cluster,
                                                   const std::vector<std::string>& hosts);

/// The hosts with `slots` each, as other machines reach them; with the form ib under their
/// InfiniBand names. A host that is reached at an IPv6 address goes by its name. Pure.
[[nodiscard]] std::vector<HostSlots> host_slots(const plan::Cluster& cluster,
                                                const std::vector<std::string>& hosts, int slots,
                                                HostfileForm form);

/// By which the round's ssh knows a node, however its host is called: "worker-0".
[[nodiscard]] std::string place_name(std::size_t node);

/// Whether the nodes get a rank table: the case asks for one, or for what a job of the Apulis
/// platform finds, and the device IPs of all its hosts are known. Pure.
[[nodiscard]] bool has_rank_table(const plan::Cluster& cluster, const plan::CasePlan& plan_case,
                                  const std::vector<std::string>& hosts);

/// The files that every node of a round gets, by name: config.json, and by flavor hccl.json,
/// hostfile and ib_config. Pure. Throws Error of kind config when a rank table is wanted and a
/// host's device IPs are not known or break a rule, or a host's name does not fit a hostfile.
[[nodiscard]] std::map<std::string, std::string> round_files(const plan::Plan& plan,
                                                             const plan::CasePlan& plan_case,
                                                             const std::vector<std::string>& hosts);

}  // namespace assay::rendezvous
