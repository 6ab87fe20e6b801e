#include "importer/nodes.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "config/node.h"
#include "config/yaml.h"
#include "core/address.h"
#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "core/version.h"
#include "importer/flagperf.h"
#include "importer/json_places.h"

namespace assay::importer {

namespace {

namespace fs = std::filesystem;
using YamlEntry = config::Entry;
using config::Node;

std::optional<int> whole_number(std::string_view text) {
  return parse_number<int>(text, 0);
}

/// A word that ssh cannot take for an option and that needs no quoting.
bool is_safe_word(const std::string& word) {
  return !word.empty() && word.size() <= 253 && word[0] != '-' &&
         std::ranges::all_of(word, [](char c) {
           return static_cast<unsigned char>(c) > ' ' && static_cast<unsigned char>(c) < 0x7f &&
                  std::string_view("'\"\\/#{}[],&*!|>%@`$;").find(c) == std::string_view::npos;
         });
}

std::string read_word(const Node& node, const char* what) {
  std::string word(trim(node.text()));
  if (!is_safe_word(word)) node.fail(fmt::format("not {}: {}", what, node.describe()));
  return word;
}

class Reader {
 public:
  NodesImport read(const fs::path& file) {
    const Node root =
        parse_json_with_places(config::read_yaml_text(file), file.string(), "a node file");
    const Node* cluster = root.find("cluster");
    const bool numbered = std::ranges::any_of(
        root.entries(), [](const YamlEntry& entry) { return whole_number(entry.key).has_value(); });
    if (cluster != nullptr && numbered)
      root.fail("it has both 'cluster' (ais-bench v1) and numbered nodes (v2)",
                "keep one of the two");
    if (cluster == nullptr && !numbered)
      root.fail("not a node file: it has neither 'cluster' (ais-bench v1) nor numbered nodes (v2)",
                "v1: {\"cluster\": {\"10.1.2.3\": {}}}; v2: {\"0\": {\"ip\": \"10.1.2.3\"}}");
    cluster != nullptr ? read_v1(root, *cluster) : read_v2(root);
    return std::move(out_);
  }

 private:
  void report(const YamlEntry& entry, Severity severity, std::string message) {
    const std::string file =
        entry.value.source() == nullptr ? std::string() : entry.value.source()->path;
    out_.diagnostics.push_back({file, entry.line, entry.column, severity, std::move(message)});
  }

  void read_v1(const Node& root, const Node& cluster) {
    out_.format = "ais-bench v1";
    for (const YamlEntry& entry : root.entries())
      if (entry.key != "cluster") unknown(entry, "");
    if (!cluster.is_mapping() || cluster.entries().empty())
      cluster.fail("'cluster' must be an object with a node for every IP",
                   "{\"cluster\": {\"10.1.2.3\": {\"user\": \"root\", \"port\": 22}}}");
    for (const YamlEntry& entry : cluster.entries()) {
      ImportedNode node;
      node.host = trim(entry.key);
      if (!is_safe_word(node.host))
        throw Error(ErrorKind::config, "not a host: '" + printable(ellipsize(entry.key, 80)) + "'",
                    entry.where());
      if (!is_ip_address(node.host))
        report(entry, Severity::note,
               "'" + node.host +
                   "' is not an IP address; ais-bench wants the server_id of the rank "
                   "table here");
      read_access(entry, node, {"user", "pd", "port"});
      add(entry, std::move(node));
    }
  }

  void read_v2(const Node& root) {
    out_.format = "ais-bench v2";
    std::map<int, const YamlEntry*> by_id;
    for (const YamlEntry& entry : root.entries()) {
      const auto id = whole_number(entry.key);
      if (!id || std::to_string(*id) != entry.key) {
        if (!id) unknown(entry, "");
        if (id)
          throw Error(ErrorKind::config, "the id '" + entry.key + "' has leading zeros",
                      entry.where(), "write it as " + std::to_string(*id));
        continue;
      }
      by_id.emplace(*id, &entry);
    }
    int expected = 0;
    for (const auto& [id, entry] : by_id) {
      if (id != expected)
        throw Error(ErrorKind::config,
                    fmt::format("the node {} is missing: ids must be 0, 1, 2, …", expected),
                    entry->where(), fmt::format("this is node {}", id));
      ++expected;
      ImportedNode node;
      const Node* ip = entry->value.is_mapping() ? entry->value.find("ip") : nullptr;
      if (ip == nullptr)
        throw Error(ErrorKind::config, fmt::format("the node {} has no ip", id), entry->where(),
                    "{\"0\": {\"ip\": \"10.1.2.3\", \"user\": \"root\", \"port\": 22}}");
      node.host = read_word(*ip, "a host");
      if (!is_ip_address(node.host)) ip->fail("not an IP address: " + ip->describe());
      read_access(*entry, node, {"ip", "user", "port", "work_path"});
      add(*entry, std::move(node));
    }
  }

  /// Reads user and port, and reports what is not carried over.
  void read_access(const YamlEntry& entry, ImportedNode& node,
                   std::initializer_list<std::string_view> known) {
    if (entry.value.is_null()) return;
    if (!entry.value.is_mapping())
      entry.value.fail("expected an object for a node, got " + entry.value.describe());
    for (const YamlEntry& field : entry.value.entries()) {
      const bool expected = std::ranges::find(known, field.key) != known.end();
      if (field.key == "pd" || field.key == "password" || field.key == "passwd") {
        report(field, Severity::warning,
               fmt::format("the password of {} is not copied: a suite never holds one; set up ssh "
                           "keys (ssh-copy-id), and remove it from this file",
                           node.host));
      } else if (!expected) {
        unknown(field, node.host);
      } else if (field.value.is_null()) {
        continue;
      } else if (field.key == "user") {
        if (!trim(field.value.text()).empty()) node.user = read_word(field.value, "a user name");
      } else if (field.key == "port") {
        node.port = whole_number(trim(field.value.text()));
        if (!node.port || *node.port < 1 || *node.port > 65535)
          field.value.fail("expected a port from 1 to 65535, got " + field.value.describe());
      } else if (field.key == "work_path") {
        report(field, Severity::note,
               fmt::format("work_path of {} has no place in 'cluster': give a case 'workdir: {}'",
                           node.host, ellipsize(printable(field.value.text()), 200)));
      }
    }
  }

  void unknown(const YamlEntry& entry, const std::string& host) {
    report(entry, Severity::warning,
           fmt::format("'{}'{} is not a field of a node file; left out",
                       ellipsize(printable(entry.key), 60), host.empty() ? "" : " of " + host));
  }

  void add(const YamlEntry& entry, ImportedNode node) {
    const auto [first, fresh] = seen_.try_emplace(node.host, entry.where());
    if (!fresh)
      throw Error(ErrorKind::config,
                  fmt::format("the host {} is there twice, first at {}", node.host, first->second),
                  entry.where(), "every node is a machine of its own");
    out_.nodes.push_back(std::move(node));
  }

  NodesImport out_;
  std::map<std::string, std::string> seen_;
};

NodesImport read_cluster_conf(const fs::path& file) {
  NodesImport out;
  out.format = "FlagPerf cluster_conf";
  const FlagPerfCluster cluster = read_flagperf_cluster(file, out.diagnostics);
  for (const std::string& host : cluster.hosts) {
    if (!is_safe_word(host))
      throw Error(ErrorKind::config, "not a host: '" + printable(ellipsize(host, 80)) + "'",
                  file.string());
    out.nodes.push_back({host, {}, cluster.ssh_port});
  }
  out.master_port = cluster.master_port;
  if (!cluster.hosts_ports.empty())
    out.diagnostics.push_back(
        {file.string(), 0, 0, Severity::note,
         "HOSTS_PORTS (" + printable(join(cluster.hosts_ports, ", ")) +
             ") has no place in 'cluster': only TensorFlow's scripts use it"});
  return out;
}

template <class F>
bool all_same(const std::vector<ImportedNode>& nodes, F&& field) {
  return std::ranges::all_of(nodes,
                             [&](const auto& node) { return field(node) == field(nodes[0]); });
}

std::string render_cluster(const NodesImport& import, const fs::path& file,
                           const std::vector<std::string>& local_names) {
  const std::vector<ImportedNode>& nodes = import.nodes;
  const bool local = nodes.size() == 1 && is_this_machine(nodes[0].host, local_names);
  std::string out = fmt::format("# Written by assay {} import nodes, from {} ({}).\n",
                                version_string(), printable(file.string()), import.format);
  const bool same_user = all_same(nodes, [](const auto& node) { return node.user; });
  const bool same_port = all_same(nodes, [](const auto& node) { return node.port; });
  out += fmt::format("cluster:\n  launcher: {}\n  hosts:\n", local ? "local" : "ssh");
  for (const ImportedNode& node : nodes) {
    std::string own;
    if (!same_user && !node.user.empty()) own += fmt::format(", user: \"{}\"", node.user);
    if (!same_port && node.port) own += fmt::format(", port: {}", *node.port);
    out += own.empty() ? fmt::format("    - \"{}\"\n", node.host)
                       : fmt::format("    - {{name: \"{}\"{}}}\n", node.host, own);
  }
  if (import.master_port) out += fmt::format("  master_port: {}\n", *import.master_port);
  const bool user = same_user && !nodes[0].user.empty();
  const bool port = same_port && nodes[0].port.has_value();
  if (user || port) out += "  ssh:\n";
  if (user) out += fmt::format("    user: \"{}\"\n", nodes[0].user);
  if (port) out += fmt::format("    port: {}\n", *nodes[0].port);
  return out;
}

}  // namespace

NodesImport import_nodes(const fs::path& file, const std::vector<std::string>& local_names) {
  std::error_code ec;
  if (!fs::is_regular_file(file, ec))
    throw Error(ErrorKind::config,
                fs::exists(file, ec) ? "not a regular file" : "there is no such file",
                file.string(), "give an ais-bench node file (JSON) or FlagPerf's cluster_conf.py");
  NodesImport out = file.extension() == ".py" ? read_cluster_conf(file) : Reader().read(file);
  out.cluster_yaml = render_cluster(out, file, local_names);
  return out;
}

}  // namespace assay::importer
