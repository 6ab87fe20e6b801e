#include "plan/cluster.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "config/mapping.h"
#include "core/address.h"
#include "core/text.h"
#include "plan/case_key.h"
#include "plan/modelarts.h"
#include "plan/suite.h"

namespace assay::plan {

using config::Mapping;
using config::Node;

namespace {

std::string read_safe_word(const Node& node, const char* what) {
  std::string word = node.nonempty_text();
  const bool odd = std::ranges::any_of(word, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || c == '\'' || c == '"';
  });
  if (odd || word[0] == '-')
    node.fail(std::string(what) +
              " must not begin with '-' or contain spaces, quotes or control "
              "characters, got " +
              node.describe());
  return word;
}

std::string read_host_name(const Node& node) {
  std::string name = read_safe_word(node, "a host name");
  if (name.find('/') != std::string::npos || name.size() > 253)
    node.fail("not a host name: " + node.describe());
  // "[::1]", "node1:22": ssh would look for a host of that name. A bare IPv6 address is fine.
  const auto colon = name.find(':');
  const bool with_port =
      colon != std::string::npos && name.find(':', colon + 1) == std::string::npos;
  if (name.find_first_of("[]") != std::string::npos || with_port)
    node.fail("a host name with a port or in brackets: " + node.describe(),
              "{name: node1, port: 2222, user: bench}; an IPv6 address has no brackets here");
  return name;
}

// What ssh needs to know to reach a host; the keys that a host and the whole cluster share.
void read_ssh_target(const Mapping& map, Json& options) {
  if (const Node* user = map.find("user")) options["user"] = read_safe_word(*user, "a user name");
  if (const Node* port = map.find("port")) options["port"] = port->integer(1, 65535);
  if (const Node* identity = map.find("identity")) options["identity"] = identity->nonempty_text();
  if (const Node* jump = map.find("jump")) options["jump"] = read_safe_word(*jump, "a jump host");
}

// "Name=value" as `ssh -o` takes it. What the suite has a key for, or Assay must decide, is not
// taken here: ssh would silently ignore it.
std::vector<std::string> read_ssh_options(const Node& node) {
  static const std::set<std::string> kOwn{
      "batchmode",           "connecttimeout", "controlmaster",
      "controlpath",         "controlpersist", "identityfile",
      "identitiesonly",      "port",           "proxyjump",
      "remotecommand",       "requesttty",     "serveralivecountmax",
      "serveraliveinterval", "sessiontype",    "stricthostkeychecking",
      "updatehostkeys",      "user",           "userknownhostsfile"};
  std::vector<std::string> options;
  for (const Node& item : node.items()) {
    std::string text = item.nonempty_text();
    const std::string name = to_lower(text.substr(0, text.find('=')));
    const bool letters = !name.empty() && std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    });
    if (!letters || name.size() + 1 >= text.size() || text.find('\n') != std::string::npos)
      item.fail("not an option of ssh: " + item.describe(),
                "Name=value, as in options: [Compression=no]");
    if (kOwn.contains(name))
      item.fail("the option " + text.substr(0, name.size()) + " cannot be given here",
                "Assay sets it; see the other keys of ssh");
    options.push_back(std::move(text));
  }
  return options;
}

Json read_ssh(const Node& node) {
  const Mapping map(node, "ssh", suite_keys().at("cluster.ssh"));
  Json options = Json::object();
  read_ssh_target(map, options);
  if (const Node* config = map.find("config")) options["config"] = config->nonempty_text();
  if (const Node* hosts = map.find("known_hosts")) options["known_hosts"] = hosts->nonempty_text();
  if (const Node* accept = map.find("accept_new_keys"))
    options["accept_new_keys"] = accept->boolean();
  if (const Node* own = map.find("options")) options["options"] = read_ssh_options(*own);
  if (const Node* timeout = map.find("connect_timeout"))
    options["connect_timeout_s"] =
        std::chrono::ceil<std::chrono::seconds>(
            timeout->duration(std::chrono::seconds(1), std::chrono::minutes(10)))
            .count();
  if (const Node* cache = map.find("cache")) {
    const std::string path = read_safe_word(*cache, "a folder");
    if (!path.starts_with('/') && !path.starts_with("~/"))
      cache->fail("the cache must be an absolute path, or begin with ~/, got " + cache->describe());
    options["cache"] = path;
  }
  return options;
}

// One address a device, in the order of the devices; "a,b" for a device with two.
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
  if (const Node* address = map.find("address")) host.ssh["address"] = read_host_name(*address);
  read_ssh_target(map, host.ssh);
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
  return host;
}

std::vector<Host> read_hosts(const Node& node) {
  std::vector<Host> hosts;
  std::map<std::string, std::string> seen;  // what must be unique → the host that has it
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

Json read_slurm(const Node& node) {
  const Mapping map(node, "slurm", suite_keys().at("cluster.slurm"));
  Json options = Json::object();
  for (const char* key :
       {"partition", "account", "qos", "reservation", "constraint", "nodelist", "exclude", "gres"})
    if (const Node* value = map.find(key)) options[key] = read_safe_word(*value, key);
  if (const Node* time = map.find("time")) options["time"] = read_safe_word(*time, "a time");
  if (const Node* wait = map.find("wait"))
    options["wait_ns"] =
        wait->duration(std::chrono::seconds(1), std::chrono::hours(24 * 30)).count();
  for (const char* key : {"exclusive", "shared"})
    if (const Node* value = map.find(key)) options[key] = value->boolean();
  if (const Node* extra = map.find("extra")) options["extra"] = extra->texts();
  return options;
}

}  // namespace

Cluster read_cluster(const Node& node) {
  const Mapping map(node, "cluster", suite_keys().at("cluster"));
  Cluster cluster;
  cluster.launcher = map.choice("launcher", {"local", "ssh", "slurm", "modelarts"});
  if (const Node* hosts = map.find("hosts")) cluster.hosts = read_hosts(*hosts);
  if (const Node* address = map.find("master_addr")) cluster.master_addr = read_host_name(*address);
  if (const Node* port = map.find("master_port"))
    cluster.master_port = static_cast<int>(port->integer(0, 65535));
  if (const Node* retries = map.find("retries"))
    cluster.retries = static_cast<int>(retries->integer(0, 100));
  if (map.has("rank_table"))
    cluster.rank_table = map.choice("rank_table", {"1.0", "1.2", "cloud", "lab"});
  if (const Node* ssh = map.find("ssh")) {
    Json options = read_ssh(*ssh);
    if (cluster.launcher == "ssh") cluster.options = std::move(options);
  }
  if (const Node* slurm = map.find("slurm")) {
    Json options = read_slurm(*slurm);
    if (cluster.launcher == "slurm") cluster.options = std::move(options);
  }
  if (const Node* modelarts = map.find("modelarts")) {
    Json options = read_modelarts(*modelarts);
    if (cluster.launcher == "modelarts") cluster.options = std::move(options);
  } else if (cluster.launcher == "modelarts") {
    node.fail("the launcher 'modelarts' needs 'modelarts'",
              "modelarts: {region: …, project: …, bucket: …, code: …, engine: …, flavor: …}");
  }
  if (cluster.launcher == "ssh" && cluster.hosts.empty())
    node.fail("the launcher 'ssh' needs 'hosts'", "hosts: [node1, node2]");
  return cluster;
}

}  // namespace assay::plan
