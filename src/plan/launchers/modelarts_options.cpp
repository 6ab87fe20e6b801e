#include "plan/launchers/modelarts_options.h"

#include "plan/plan.h"

namespace assay::plan {

using config::Mapping;
using config::Node;

namespace {

/// "/bucket/folder/".
std::string read_obs_folder(const Node& node) {
  std::string path = node.nonempty_text();
  if (path.starts_with("obs://")) path.erase(0, 5);
  if (!path.starts_with('/') || path.find('/', 1) == std::string::npos || path.size() < 3)
    node.fail("must be /BUCKET/FOLDER/, got " + node.describe());
  if (!path.ends_with('/')) path += '/';
  return path;
}

std::vector<CloudVolume> read_volumes(const Node& node) {
  std::vector<CloudVolume> volumes;
  for (const Node& item : node.items()) {
    const Mapping map(item, "a volume", CloudVolume::keys());
    CloudVolume volume{map.at("server").nonempty_text(), map.at("path").nonempty_text()};
    if (const Node* read_only = map.find("read_only")) volume.read_only = read_only->boolean();
    volumes.push_back(std::move(volume));
  }
  return volumes;
}

}  // namespace

const std::vector<std::string>& CloudVolume::keys() {
  static const std::vector<std::string> all{"server", "path", "read_only"};
  return all;
}

const std::vector<std::string>& ModelArtsOptions::keys() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names{"region",    "endpoint",      "obs_endpoint", "project",
                                   "api",       "engine",        "flavor",       "pool",
                                   "workspace", "inputs",        "output",       "volumes",
                                   "auto_stop", "single_server", "results"};
    names.insert(names.end(), shared_keys().begin(), shared_keys().end());
    return names;
  }();
  return all;
}

ModelArtsOptions ModelArtsOptions::read(const Node& node) {
  const Mapping map(node, "modelarts", keys());
  ModelArtsOptions out;
  if (const Node* region = map.find("region")) {
    const std::string name = read_word(*region, "-");
    out.endpoint = "https://modelarts." + name + ".myhuaweicloud.com";
    out.store_endpoint = "https://obs." + name + ".myhuaweicloud.com";
  }
  if (const Node* endpoint = map.find("endpoint")) out.endpoint = read_endpoint(*endpoint);
  if (const Node* endpoint = map.find("obs_endpoint"))
    out.store_endpoint = read_endpoint(*endpoint);
  if (out.endpoint.empty() || out.store_endpoint.empty())
    node.fail("modelarts needs 'region', or 'endpoint' and 'obs_endpoint'", "region: cn-north-4");
  out.project = read_word(map.at("project"), "");
  out.read_shared(map);
  out.api = map.choice("api", {"v2", "v1"});
  out.engine = read_word(map.at("engine"), "-_./:");
  if (out.v1() && out.engine.starts_with("image:"))
    map.at("engine").fail("images of one's own need api: v2");
  if (out.v1() && out.engine.find('/') == std::string::npos)
    map.at("engine").fail("with api v1 an engine is NAME/VERSION, got " +
                          map.at("engine").describe());
  if (!map.has("flavor") && !map.has("pool"))
    node.fail("modelarts needs 'flavor', or 'pool'", "flavor: modelarts.kat1.8xlarge");
  if (const Node* word = map.find("flavor")) out.flavor = read_word(*word);
  if (const Node* word = map.find("pool")) out.pool = read_word(*word);
  if (const Node* word = map.find("workspace")) out.workspace = read_word(*word);
  if (const Node* inputs = map.find("inputs"))
    for (const config::Entry& entry : inputs->entries())
      out.inputs[entry.key] = read_obs_folder(entry.value);
  if (out.v1() && out.inputs.size() > 1) map.at("inputs").fail("a job of api v1 has one input");
  out.output = map.text_or("output", out.output);
  if (const Node* volumes = map.find("volumes")) out.volumes = read_volumes(*volumes);
  if (const Node* hours = map.find("auto_stop"))
    out.auto_stop_h =
        static_cast<int>(std::chrono::ceil<std::chrono::hours>(
                             hours->duration(std::chrono::hours(1), std::chrono::hours(24 * 365)))
                             .count());
  if (const Node* value = map.find("single_server")) out.single_server = value->boolean();
  out.results = map.choice("results", {"ais-bench", "perflog"});
  return out;
}

void ModelArtsOptions::adapt(const Node& node, CasePlan& plan) const {
  if (plan.container)
    node.fail("the case '" + plan.name + "' has a container, which ModelArts does not start",
              "the engine of cluster.modelarts is the container");
  if (plan.command.empty() || plan.command[0].starts_with('/') ||
      plan.command[0].find("..") != std::string::npos)
    node.fail("the command of '" + plan.name + "' must begin with the boot file, a path in " +
                  code.string(),
              "command: [train.py, --epoch_size=90]");
  for (std::size_t i = 1; i < plan.command.size(); ++i) {
    const std::string& word = plan.command[i];
    if (!word.starts_with("--") || word.find('=') == std::string::npos)
      node.fail("a hyper-parameter must be --NAME=VALUE, got '" + word + "'");
  }
  plan.launch = LaunchMode::per_node;
  if (!ais_results()) return;
  plan.metrics.push_back({"throughput_ratio", R"(report >> throughput_list:.* average:(\S+))",
                          "samples/s", Better::higher, "last", "mean"});
  plan.metrics.push_back({"accuracy", R"(report >> accuracy_list:.* average:(\S+))", "",
                          Better::higher, "last", "mean"});
}

}  // namespace assay::plan
