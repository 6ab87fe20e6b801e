#include "plan/cluster.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "config/mapping.h"
#include "core/address.h"
#include "core/text.h"
#include "plan/case_key.h"
#include "plan/safe_words.h"
#include "plan/suite.h"

namespace assay::plan {

using config::Mapping;
using config::Node;

namespace {

// One address per device, in device order; "a,b" for a device with two.
std::vector<std::string> read_device_ips(const Node& node) {
  std::vector<std::string> out;
  for (const Node& item : node.items()) {
    std::string text = item.text();
    for (const std::string_view part : split(text, ','))
      if (!is_ip_address(std::string(part)))
        item.fail("not an IP address: " + item.describe(),
                  "device_ips: [192.168.10.1, 192.168.20.1], in the order of the devices");
    out.push_back(std::move(text));
  }
  if (out.size() > static_cast<std::size_t>(kMaxProcs)) node.fail("more devices than processes");
  return out;
}

Host read_host(const Node& node) {
  if (node.is_scalar()) return {read_host_name(node)};
  const Mapping map(node, "a host", suite_keys().at("cluster.hosts"));
  Host host{read_host_name(map.at("name"))};
  if (const Node* slots = map.find("slots"))
    host.slots = static_cast<int>(slots->integer(1, kMaxProcs));
  if (const Node* address = map.find("address")) host.ssh.address = read_host_name(*address);
  read_ssh_access(map, host.ssh);
  if (const Node* id = map.find("server_id")) {
    host.server_id = read_safe_word(*id, "a server_id");
    if (host.server_id.size() >= 64)
      id->fail("a server_id has at most 63 characters, got " + id->describe());
  }
  if (const Node* ips = map.find("device_ips")) host.device_ips = read_device_ips(*ips);
  if (const Node* pod = map.find("super_pod")) host.super_pod = read_safe_word(*pod, "a super_pod");
  if (const Node* ids = map.find("super_device_ids"))
    for (const Node& item : ids->items())
      host.super_device_ids.push_back(std::to_string(item.integer(0, 0xFFFF'FFFFLL)));
  if (const Node* address = map.find("ib_addr")) host.ib_addr = read_host_name(*address);
  if (const Node* env = map.find("env")) host.env = read_variables(*env);
  return host;
}

std::vector<Host> read_hosts(const Node& node) {
  std::vector<Host> hosts;
  std::map<std::string, std::string> seen;  // a value that must be unique → its host
  for (const Node& item : node.items()) {
    Host host = read_host(item);
    if (std::ranges::find(hosts, host.name, &Host::name) != hosts.end())
      item.fail("the host '" + host.name + "' is listed twice");
    const auto unique = [&](const std::string& what, const std::string& value) {
      const auto [first, fresh] = seen.try_emplace(what + value, host.name);
      if (!fresh) item.fail(what + value + " is that of '" + first->second + "' too");
    };
    unique("the server_id ", host.server_id.empty() ? host.name : host.server_id);
    for (const std::string& device : host.device_ips)
      for (const std::string_view ip : split(device, ','))
        unique("the device IP ", std::string(ip));
    hosts.push_back(std::move(host));
  }
  return hosts;
}

void leave_out(const Node& node, std::vector<Host>& hosts) {
  for (const Node& item : node.items()) {
    const std::string name = read_host_name(item);
    if (std::erase_if(hosts, [&](const Host& host) { return host.name == name; }) == 0)
      item.fail("'" + name + "' is not one of the hosts, or is excluded twice",
                "exclude: [node3], a name as in 'hosts'");
  }
  if (hosts.empty()) node.fail("every host is excluded");
}

/// Refuses keys that only apply to a list of hosts when the launcher chooses hosts itself.
void refuse_with_chosen_hosts(const Mapping& map, const Cluster& cluster) {
  if (!cluster.traits.chooses_hosts) return;
  if (const Node* exclude = map.find("exclude"))
    exclude->fail("the launcher '" + cluster.launcher() +
                      "' chooses hosts by itself: 'exclude' would have no effect",
                  "with Slurm, cluster.slurm.exclude names hosts that are not taken");
  if (const Node* nodes = map.find("min_nodes"))
    nodes->fail(
        "the launcher '" + cluster.launcher() +
            "' gives each case the nodes that it asks for: 'min_nodes' would have no effect",
        "leave it out; 'nodes' of a case says how many it has");
}

int read_min_nodes(const Node& node, const Cluster& cluster) {
  const auto wanted = node.integer(1, kMaxNodes);
  const std::size_t hosts =
      cluster.hosts.empty() && cluster.traits.one_machine ? 1 : cluster.hosts.size();
  if (hosts > 0 && wanted > static_cast<std::int64_t>(hosts))
    node.fail(
        fmt::format("min_nodes is {}, but the cluster has {}", wanted, counted(hosts, "host")),
        "name more hosts under cluster.hosts, exclude fewer, or lower min_nodes");
  return static_cast<int>(wanted);
}

}  // namespace

Cluster read_cluster(const Node& node) {
  const Mapping map(node, "cluster", suite_keys().at("cluster"));
  Cluster cluster;
  const std::string launcher = map.choice("launcher", launcher_names());
  cluster.use_launcher(read_launcher_options(launcher, map, node));
  refuse_with_chosen_hosts(map, cluster);
  if (const Node* hosts = map.find("hosts")) cluster.hosts = read_hosts(*hosts);
  if (const Node* exclude = map.find("exclude")) leave_out(*exclude, cluster.hosts);
  if (const Node* nodes = map.find("min_nodes"))
    cluster.min_nodes = read_min_nodes(*nodes, cluster);
  if (const Node* address = map.find("master_addr")) cluster.master_addr = read_host_name(*address);
  if (const Node* port = map.find("master_port"))
    cluster.master_port = static_cast<int>(port->integer(0, 65535));
  if (const Node* retries = map.find("retries"))
    cluster.retries = static_cast<int>(retries->integer(0, 100));
  if (map.has("rank_table"))
    cluster.rank_table = map.choice("rank_table", {"1.0", "1.2", "cloud", "lab"});
  if (cluster.hosts.empty() && !cluster.traits.one_machine && !cluster.traits.chooses_hosts)
    node.fail("the launcher '" + launcher + "' needs 'hosts'", "hosts: [node1, node2]");
  return cluster;
}

}  // namespace assay::plan
