#include "engine/nodes_file.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "config/mapping.h"
#include "config/yaml.h"
#include "core/processors.h"
#include "core/text.h"
#include "plan/launchers/ssh_options.h"

namespace assay::engine {

namespace {

using config::Mapping;
using config::Node;

constexpr int kMaxDevices = 1024;

/// What a suite says of a host that ssh reaches, by the same keys.
constexpr const char* kAccessKeys[] = {"address", "user",    "port",       "identity",
                                       "jump",    "ib_addr", "device_ips", "server_id"};

struct ReadNode {
  EmbeddedNode node;
  plan::SshAccess access;
};

ReadNode read_node(const Node& node) {
  static const std::vector<std::string> kKeys{"name",     "address", "user",       "port",
                                              "identity", "jump",    "vendor",     "device_type",
                                              "devices",  "ib_addr", "device_ips", "server_id"};
  const Mapping map(node, "a node", kKeys);
  EmbeddedNode out;
  out.remote = true;
  out.name = map.at("name").nonempty_text();
  out.vendor = map.text_or("vendor", kProcessors);
  out.device_type = map.text_or("device_type", out.vendor);
  out.devices = static_cast<int>(map.at("devices").integer(1, kMaxDevices));
  plan::SshAccess access;
  plan::read_ssh_access(map, access);
  access.address = map.text_or("address", out.name);
  for (const char* key : kAccessKeys)
    if (const Node* value = map.find(key)) out.access[key] = value->json();
  return {std::move(out), std::move(access)};
}

// The same address is another machine where a port of its own leads to it, or another way.
std::string machine_of(const plan::SshAccess& node, const plan::SshAccess& all) {
  const int port = node.port != 0 ? node.port : all.port;
  return fmt::format("{} port {} over '{}'", to_lower(node.address), port != 0 ? port : 22,
                     node.jump.empty() ? all.jump : node.jump);
}

}  // namespace

NodesFile parse_nodes_file(std::string_view yaml, const std::string& file) {
  static const std::vector<std::string> kKeys{"nodes", "ssh"};
  const Node root = config::parse_yaml(yaml, config::Source{file, file, false});
  const Mapping map(root, "the list of nodes", kKeys);
  NodesFile out;
  plan::SshAccess of_all;
  if (const Node* ssh = map.find("ssh")) {
    of_all = plan::SshOptions::read(*ssh);
    out.ssh = ssh->json();
  }
  std::map<std::string, std::string> machines;  // → the name of the node that it is
  for (const Node& item : map.at("nodes").items()) {
    auto [node, access] = read_node(item);
    if (std::ranges::find(out.nodes, node.name, &EmbeddedNode::name) != out.nodes.end())
      item.fail("the node '" + node.name + "' is listed twice");
    const auto [first, fresh] = machines.emplace(machine_of(access, of_all), node.name);
    if (!fresh)
      item.fail(fmt::format("the node '{}' is the machine of '{}': both have the address {}",
                            node.name, first->second, access.address),
                "list a machine once, with all of its devices; 'port' tells systems with one "
                "address apart");
    out.nodes.push_back(std::move(node));
  }
  if (out.nodes.empty()) map.at("nodes").fail("there are no nodes");
  return out;
}

NodesFile read_nodes_file(const std::filesystem::path& file) {
  return parse_nodes_file(config::read_yaml_text(file), file.string());
}

}  // namespace assay::engine
