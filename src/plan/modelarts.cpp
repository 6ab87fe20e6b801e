#include "plan/modelarts.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "config/mapping.h"
#include "core/text.h"
#include "plan/suite.h"

namespace assay::plan {

using config::Mapping;
using config::Node;

namespace {

constexpr std::size_t kLongestJobName = 24;  // the run's id goes after it; 64 in all

/// What may be part of a host name, a bucket or a key, and of no other request than it is meant
/// for.
std::string read_word(const Node& node, std::string_view also = "-_.") {
  std::string word = node.nonempty_text();
  const bool odd = std::ranges::any_of(word, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0 && also.find(c) == std::string::npos;
  });
  if (odd)
    node.fail("must be letters, digits and '" + std::string(also) + "', got " + node.describe());
  return word;
}

std::string read_endpoint(const Node& node) {
  std::string url = node.nonempty_text();
  while (url.ends_with('/')) url.pop_back();
  const bool here = url.starts_with("http://127.") || url.starts_with("http://localhost:") ||
                    url.starts_with("http://[::1]");
  if (!url.starts_with("https://") && !here)
    node.fail("an endpoint must begin with https:// (http:// only on this machine), got " +
              node.describe());
  return url;
}

/// "/bucket/folder/".
std::string read_obs_folder(const Node& node) {
  std::string path = node.nonempty_text();
  if (path.starts_with("obs://")) path.erase(0, 5);
  if (!path.starts_with('/') || path.find('/', 1) == std::string::npos || path.size() < 3)
    node.fail("must be /BUCKET/FOLDER/, got " + node.describe());
  if (!path.ends_with('/')) path += '/';
  return path;
}

/// A path that is relative to the file that names it.
std::string read_folder(const Node& node) {
  const std::filesystem::path path = node.nonempty_text();
  if (path.is_absolute() || node.is_override() || !node.source())
    return std::filesystem::absolute(path).lexically_normal().string();
  const auto base = std::filesystem::absolute(node.source()->path).parent_path();
  return (base / path).lexically_normal().string();
}

Json read_volumes(const Node& node) {
  Json volumes = Json::array();
  for (const Node& item : node.items()) {
    const Mapping map(item, "a volume", suite_keys().at("cluster.modelarts.volumes"));
    Json volume{{"server", map.at("server").nonempty_text()},
                {"path", map.at("path").nonempty_text()},
                {"read_only", false}};
    if (const Node* read_only = map.find("read_only")) volume["read_only"] = read_only->boolean();
    volumes.push_back(std::move(volume));
  }
  return volumes;
}

}  // namespace

Json read_modelarts(const Node& node) {
  const Mapping map(node, "modelarts", suite_keys().at("cluster.modelarts"));
  Json options = Json::object();
  if (const Node* region = map.find("region")) {
    const std::string name = read_word(*region, "-");
    options["endpoint"] = "https://modelarts." + name + ".myhuaweicloud.com";
    options["obs_endpoint"] = "https://obs." + name + ".myhuaweicloud.com";
  }
  for (const char* key : {"endpoint", "obs_endpoint"})
    if (const Node* endpoint = map.find(key)) options[key] = read_endpoint(*endpoint);
  if (!options.contains("endpoint") || !options.contains("obs_endpoint"))
    node.fail("modelarts needs 'region', or 'endpoint' and 'obs_endpoint'", "region: cn-north-4");
  options["project"] = read_word(map.at("project"), "");
  options["bucket"] = read_word(map.at("bucket"), "-.");
  options["prefix"] = "assay/";
  if (const Node* prefix = map.find("prefix")) {
    std::string text = read_word(*prefix, "-_./");
    if (text.starts_with('/') || text.find("..") != std::string::npos)
      prefix->fail("must be the beginning of keys, like 'bench/', got " + prefix->describe());
    options["prefix"] = text.ends_with('/') ? text : text + "/";
  }
  options["code"] = read_folder(map.at("code"));
  options["api"] = map.choice("api", {"v2", "v1"});
  const bool v1 = options["api"] == "v1";
  options["engine"] = read_word(map.at("engine"), v1 ? "-_./" : "-_.");
  if (v1 && options["engine"].get<std::string>().find('/') == std::string::npos)
    map.at("engine").fail("with api v1 an engine is NAME/VERSION, got " +
                          map.at("engine").describe());
  if (!map.has("flavor") && !map.has("pool"))
    node.fail("modelarts needs 'flavor', or 'pool'", "flavor: modelarts.kat1.8xlarge");
  for (const char* key : {"flavor", "pool", "workspace"})
    if (const Node* word = map.find(key)) options[key] = read_word(*word);
  options["job_name"] = "assay";
  if (const Node* name = map.find("job_name")) {
    options["job_name"] = read_word(*name, "-_");
    if (options["job_name"].get<std::string>().size() > kLongestJobName)
      name->fail("has at most " + std::to_string(kLongestJobName) + " characters, got " +
                 name->describe());
  }
  options["inputs"] = Json::object();
  if (const Node* inputs = map.find("inputs"))
    for (const config::Entry& entry : inputs->entries())
      options["inputs"][entry.key] = read_obs_folder(entry.value);
  if (v1 && options["inputs"].size() > 1) map.at("inputs").fail("a job of api v1 has one input");
  options["output"] = map.text_or("output", "train_url");
  if (const Node* volumes = map.find("volumes")) options["volumes"] = read_volumes(*volumes);
  if (const Node* hours = map.find("auto_stop"))
    options["auto_stop_h"] =
        std::chrono::ceil<std::chrono::hours>(
            hours->duration(std::chrono::hours(1), std::chrono::hours(24 * 365)))
            .count();
  for (const char* key : {"stop_on_interrupt", "single_server"}) {
    options[key] = false;
    if (const Node* value = map.find(key)) options[key] = value->boolean();
  }
  options["results"] = map.choice("results", {"ais-bench", "perflog"});
  if (const Node* file = map.find("credentials")) options["credentials"] = read_folder(*file);
  const auto duration = [&](const char* key, Nanoseconds otherwise, Nanoseconds least) {
    const Node* value = map.find(key);
    const Nanoseconds chosen =
        value == nullptr ? otherwise : value->duration(least, std::chrono::hours(24 * 30));
    options[std::string(key) + "_ns"] = chosen.count();
  };
  duration("wait", std::chrono::hours(24), std::chrono::seconds(1));
  duration("poll", std::chrono::seconds(2), std::chrono::milliseconds(10));
  return options;
}

void adapt_to_modelarts(const Node& node, const Cluster& cluster, CasePlan& plan) {
  if (plan.container)
    node.fail("the case '" + plan.name + "' has a container, which ModelArts does not start",
              "the engine of cluster.modelarts is the container");
  if (plan.command.empty() || plan.command[0].starts_with('/') ||
      plan.command[0].find("..") != std::string::npos)
    node.fail("the command of '" + plan.name + "' must begin with the boot file, a path in " +
                  cluster.options.value("code", ""),
              "command: [train.py, --epoch_size=90]");
  for (std::size_t i = 1; i < plan.command.size(); ++i) {
    const std::string& word = plan.command[i];
    if (!word.starts_with("--") || word.find('=') == std::string::npos)
      node.fail("a hyper-parameter must be --NAME=VALUE, got '" + word + "'");
  }
  if (cluster.options.value("api", "") == "v1" && !plan.env.empty())
    node.fail("the case '" + plan.name + "' has env, but jobs of api v1 have no environment",
              "export it in ma-pre-start.sh beside the boot file");
  plan.launch = LaunchMode::per_node;
  if (cluster.options.value("results", "") != "ais-bench") return;
  plan.metrics.push_back({"throughput_ratio", R"(report >> throughput_list:.* average:(\S+))",
                          "samples/s", Better::higher, "last", "mean"});
  plan.metrics.push_back({"accuracy", R"(report >> accuracy_list:.* average:(\S+))", "",
                          Better::higher, "last", "mean"});
}

}  // namespace assay::plan
