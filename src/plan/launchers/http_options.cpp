#include "plan/launchers/http_options.h"

#include "plan/plan.h"

namespace assay::plan {

using config::Mapping;
using config::Node;

const std::vector<std::string>& HttpOptions::keys() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names{"endpoint", "store_endpoint", "image", "resources"};
    names.insert(names.end(), shared_keys().begin(), shared_keys().end());
    return names;
  }();
  return all;
}

HttpOptions HttpOptions::read(const Node& node) {
  const Mapping map(node, "http", keys());
  HttpOptions out;
  out.endpoint = read_endpoint(map.at("endpoint"));
  out.store_endpoint = read_endpoint(map.at("store_endpoint"));
  out.read_shared(map);
  if (const Node* image = map.find("image")) out.image = image->nonempty_text();
  if (const Node* resources = map.find("resources"))
    for (const config::Entry& entry : resources->entries())
      out.resources[entry.key] = entry.value.nonempty_text();
  return out;
}

void HttpOptions::adapt(const Node& node, CasePlan& plan) const {
  if (plan.container)
    node.fail("the case '" + plan.name + "' has a container, which the job service does not start",
              "the image of cluster.http is the container");
  if (plan.command.empty() || plan.command[0].find("..") != std::string::npos)
    node.fail("the command of '" + plan.name +
                  "' must begin with a program of the image, or a path in " + code.string(),
              "command: [python3, train.py]");
  plan.launch = LaunchMode::per_node;
}

}  // namespace assay::plan
