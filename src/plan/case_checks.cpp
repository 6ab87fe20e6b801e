#include "plan/case_checks.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/text.h"
#include "plan/command.h"

namespace assay::plan {

void check_placement(const SuiteCase& wanted, const Cluster& cluster) {
  const config::Node* nodes = wanted.node.find("nodes");
  if (cluster.hosts.empty() && cluster.traits.one_machine && wanted.nodes > 1)
    (nodes == nullptr ? wanted.node : *nodes)
        .fail("the case '" + wanted.name + "' wants " + counted(wanted.nodes, "node") +
                  ", but the cluster has 1, this machine",
              "name hosts under 'cluster', or ask for 1 node");
  if (cluster.hosts.empty()) return;
  if (static_cast<std::size_t>(wanted.nodes) > cluster.hosts.size())
    (nodes == nullptr ? wanted.node : *nodes)
        .fail("the case '" + wanted.name + "' needs " + counted(wanted.nodes, "node") +
                  ", but the cluster has " + counted(cluster.hosts.size(), "host"),
              "add hosts to 'cluster', or ask for fewer nodes");
  for (int i = 0; i < wanted.nodes; ++i) {
    const Host& host = cluster.hosts[static_cast<std::size_t>(i)];
    if (host.slots > 0 && wanted.procs > host.slots)
      wanted.node.fail("the case '" + wanted.name + "' starts " + std::to_string(wanted.procs) +
                           " processes a node, but the host '" + host.name + "' has " +
                           std::to_string(host.slots) + " slots",
                       "raise its slots, or ask for fewer processes");
  }
}

void check_files(const SuiteCase& wanted, const CasePlan& plan) {
  std::vector<std::string> texts = plan.command;
  for (const auto& [name, value] : plan.env) texts.push_back(value);
  const auto used = [&](const char* name) {
    return std::ranges::any_of(texts,
                               [&](const auto& text) { return uses_placeholder(text, name); });
  };
  const auto check = [&](const char* name, bool RendezvousFlavor::*property, const char* file) {
    if (!plan.meets_with(property) && used(name))
      wanted.node.fail(
          fmt::format("{{{}}} is used by the case '{}', which gets no {}", name, plan.name, file),
          "its 'rendezvous' must be one of: " + flavors_with(property));
  };
  check("hostfile", &RendezvousFlavor::hostfile, "hostfile");
  check("ranktable", &RendezvousFlavor::rank_table, "rank table");
}

void check_rank_table(const SuiteCase& wanted, const CasePlan& plan, const Cluster& cluster) {
  if (!plan.meets_with(&RendezvousFlavor::rank_table)) return;
  const std::string requirement =
      "the case '" + plan.name + "' meets by hccl on " + std::to_string(plan.nodes) + " nodes";
  if (cluster.hosts.empty() && plan.nodes > 1)
    wanted.node.fail(requirement + ", but the cluster lists no hosts with their device_ips",
                     "cluster: {hosts: [{name: n1, device_ips: [192.168.10.1, …]}, …]}");
  const bool super_pods = cluster.rank_table == "1.2";
  for (int i = 0; i < plan.nodes && !cluster.hosts.empty(); ++i) {
    const Host& host = cluster.hosts[static_cast<std::size_t>(i)];
    const auto lacks = [&](const char* key, std::size_t has) {
      wanted.node.fail(requirement + ", but the host '" + host.name + "' has " +
                           std::to_string(has) + " " + key + " for " + std::to_string(plan.procs) +
                           " processes",
                       std::string("give every host as many ") + key +
                           " as it has devices; /etc/hccn.conf of the host has device IPs");
    };
    const auto procs = static_cast<std::size_t>(plan.procs);
    if ((plan.nodes > 1 || !host.device_ips.empty()) && host.device_ips.size() < procs)
      lacks("device_ips", host.device_ips.size());
    if (super_pods && host.super_pod.empty())
      wanted.node.fail(
          requirement + " with rank_table 1.2, but the host '" + host.name + "' has no super_pod",
          "give every host a super_pod and super_device_ids, or use rank_table 1.0");
    if ((super_pods || !host.super_pod.empty()) && host.super_device_ids.size() < procs)
      lacks("super_device_ids", host.super_device_ids.size());
  }
}

void check_binding(const SuiteCase& wanted, const CasePlan& plan, const Cluster& cluster) {
  if (plan.bind.mode == BindMode::none) return;
  if (!cluster.traits.starts_agents)
    wanted.node.fail("the launcher '" + cluster.launcher() + "' cannot bind ranks to CPUs",
                     "leave 'bind' out");
  if (plan.launch != LaunchMode::per_rank)
    wanted.node.fail(
        "'bind' is for ranks that agents start, and '" + plan.name + "' starts its own",
        "leave 'bind' out, and bind with what starts them (mpirun --bind-to, torchrun's numactl, "
        "--cpu-bind in cluster.slurm.step)");
  if (plan.container && plan.container->runtime == "docker")
    wanted.node.fail("docker's daemon starts the ranks of '" + plan.name +
                         "', and does not bind "
                         "them",
                     "options: ['--cpuset-cpus=0-3'] of the container, or runtime: podman");
  if (plan.bind.mode == BindMode::listed &&
      plan.bind.lists.size() != static_cast<std::size_t>(plan.procs))
    wanted.node.fail(
        fmt::format("'bind' has {}, but a node has {}", counted(plan.bind.lists.size(), "list"),
                    counted(plan.procs, "rank")),
        "one list of CPUs for every rank of a node: bind: ['0-3', '4-7']");
}

}  // namespace assay::plan
