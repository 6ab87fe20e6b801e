#include "engine/nodes_file.h"

#include <algorithm>

#include "config/mapping.h"
#include "config/yaml.h"
#include "core/processors.h"
#include "plan/launchers/ssh_options.h"

namespace assay::engine {

namespace {

using config::Mapping;
using config::Node;

constexpr int kMaxDevices = 1024;

/// What a suite says of a host that ssh reaches, by the same keys.
constexpr const char* kAccessKeys[] = {"address", "user",    "port",       "identity",
                                       "jump",    "ib_addr", "device_ips", "server_id"};

EmbeddedNode read_node(const Node& node) {
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
  plan::SshAccess checked;
  plan::read_ssh_access(map, checked);
  for (const char* key : kAccessKeys)
    if (const Node* value = map.find(key)) out.access[key] = value->json();
  return out;
}

}  // namespace

NodesFile parse_nodes_file(std::string_view yaml, const std::string& file) {
  static const std::vector<std::string> kKeys{"nodes", "ssh"};
  const Node root = config::parse_yaml(yaml, config::Source{file, file, false});
  const Mapping map(root, "the list of nodes", kKeys);
  NodesFile out;
  for (const Node& item : map.at("nodes").items()) {
    EmbeddedNode node = read_node(item);
    if (std::ranges::find(out.nodes, node.name, &EmbeddedNode::name) != out.nodes.end())
      item.fail("the node '" + node.name + "' is listed twice");
    out.nodes.push_back(std::move(node));
  }
  if (out.nodes.empty()) map.at("nodes").fail("there are no nodes");
  if (const Node* ssh = map.find("ssh")) {
    (void)plan::SshOptions::read(*ssh);
    out.ssh = ssh->json();
  }
  return out;
}

NodesFile read_nodes_file(const std::filesystem::path& file) {
  return parse_nodes_file(config::read_yaml_text(file), file.string());
}

}  // namespace assay::engine
