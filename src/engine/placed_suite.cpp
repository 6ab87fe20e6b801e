#include "engine/placed_suite.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "config/yaml.h"
#include "core/error.h"
#include "core/job_variables.h"
#include "core/json.h"
#include "core/processors.h"
#include "core/text.h"
#include "jobs/submission.h"

namespace assay::engine {

namespace {

/// `names`: what the devices are called; empty: by their numbers.
std::string device_list(const std::vector<int>& indices,
                        const std::vector<std::string>& names = {}) {
  std::vector<std::string> words;
  for (const int index : indices) {
    const auto at = static_cast<std::size_t>(index);
    words.push_back(at < names.size() ? names[at] : std::to_string(index));
  }
  return join(words, ",");
}

/// Whether the suite says of which vendor its devices are. One that cannot be read does: what is
/// wrong with it is said when it is planned.
bool names_vendor(const std::string& suite) {
  try {
    return config::parse_yaml(suite, config::Source{"suite.yaml", "suite.yaml", false})
               .find("vendor") != nullptr;
  } catch (const Error&) {
    return true;
  }
}

/// Whether a case says itself where its ranks are started.
bool names_workdir(const std::string& suite) {
  try {
    const config::Node root =
        config::parse_yaml(suite, config::Source{"suite.yaml", "suite.yaml", false});
    const config::Node* cases = root.find("cases");
    return cases != nullptr && std::ranges::any_of(cases->items(), [](const config::Node& one) {
             return one.is_mapping() && one.find("workdir") != nullptr;
           });
  } catch (const Error&) {
    return true;
  }
}

/// A folder that nobody else can have made, on machines of which nothing is known: each node's has
/// its own name, because two of them may share /tmp.
std::string fresh_folder(const Execution& execution) {
  std::random_device entropy;
  return fmt::format("/tmp/assay-job-{}-{}-{:08x}{:08x}-{{host}}", execution.job, execution.attempt,
                     entropy(), entropy());
}

using DevicesOfNodes = std::map<std::string, std::vector<int>>;

std::vector<int> devices_on(const EmbeddedNode& node, const DevicesOfNodes& devices) {
  const auto found = devices.find(node.name);
  return found == devices.end() ? std::vector<int>{} : found->second;
}

/// What tells the ranks of a node which of its devices are theirs.
std::map<std::string, std::string> device_variables(const EmbeddedNode& node,
                                                    const std::vector<int>& indices) {
  std::map<std::string, std::string> out{{std::string(kDevicesVariable), device_list(indices)}};
  if (!node.visible_devices.empty())
    out[node.visible_devices] = device_list(indices, node.device_names);
  return out;
}

// `owner`: of the job, where nodes run jobs as the user of that name.
Json cluster_of(const std::vector<EmbeddedNode>& nodes, const DevicesOfNodes& devices,
                const Json& ssh, const std::string& owner) {
  Json hosts = Json::array();
  for (const EmbeddedNode& node : nodes) {
    hosts.push_back({{"name", node.name}});
    hosts.back().update(node.access);
    if (hosts.back().value("user", "") == kOwnersUser) hosts.back()["user"] = owner;
    hosts.back()["env"] = device_variables(node, devices_on(node, devices));
  }
  const bool remote = std::ranges::any_of(nodes, &EmbeddedNode::remote);
  Json cluster{{"launcher", remote ? "ssh" : "local"}, {"hosts", std::move(hosts)}};
  if (remote && !ssh.empty()) cluster["ssh"] = ssh;
  return cluster;
}

std::string variable_setting(const std::string& name, const std::string& value) {
  return "env." + name + "=" + value;
}

void add_job_variables(const Order& order, PlacedSuite& suite) {
  const auto variable = [&](const std::string& name, const std::string& value) {
    suite.set.push_back(variable_setting(name, value));
  };
  variable(std::string(kJobIdVariable), std::to_string(order.execution.job));
  variable("ASSAY_RESTART_COUNT", std::to_string(order.restarts));
  if (order.array_index) variable("ASSAY_ARRAY_INDEX", std::to_string(*order.array_index));
}

}  // namespace

std::string devices_setting(const std::vector<int>& devices) {
  return variable_setting(std::string(kDevicesVariable), device_list(devices));
}

PlacedSuite suite_in_slurm(const Order& order) {
  PlacedSuite out;
  out.text = jobs::suite_text(order.submission);
  out.set.push_back("cluster=" +
                    dump_line(Json{{"launcher", "slurm"}, {"slurm", {{"exclusive", false}}}}));
  add_job_variables(order, out);
  out.secrets = order.submission.secrets;
  return out;
}

PlacedSuite place_suite(const Order& order, const std::vector<EmbeddedNode>& nodes,
                        const std::map<std::string, std::vector<int>>& devices, const Json& ssh) {
  PlacedSuite out;
  out.text = jobs::suite_text(order.submission);
  out.set.push_back("cluster=" + dump_line(cluster_of(nodes, devices, ssh, order.owner)));
  const bool is_command = order.submission.suite.empty();
  out.remote = std::ranges::any_of(nodes, &EmbeddedNode::remote);
  if (!order.code.empty() && out.remote && !names_workdir(out.text)) {
    out.remote_work = fresh_folder(order.execution);
    out.set.push_back("workdir=" + out.remote_work);
  }
  if (!nodes.empty() && !are_processors(nodes.front().vendor) && !names_vendor(out.text)) {
    out.set.push_back("vendor=" + nodes.front().vendor);
    if (is_command) out.set.push_back("hardware=" + nodes.front().device_type);
  }
  add_job_variables(order, out);
  out.secrets = order.submission.secrets;
  // This machine is one node, and its controller counts the devices that it may use.
  if (!nodes.empty() && !nodes.front().remote) {
    const EmbeddedNode& node = nodes.front();
    const std::vector<int> indices = devices_on(node, devices);
    if (are_processors(node.device_type)) out.processors = indices;
    if (!node.visible_devices.empty())
      out.env[node.visible_devices] = device_list(indices, node.device_names);
  }
  return out;
}

}  // namespace assay::engine
