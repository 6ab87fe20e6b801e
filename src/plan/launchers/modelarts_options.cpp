#include "plan/launchers/modelarts_options.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "config/mapping.h"
#include "core/text.h"
#include "plan/plan.h"

namespace assay::plan {

using config::Mapping;
using config::Node;

namespace {

constexpr std::size_t kMaxJobName = 24;  // the run's id goes after it; 64 in all

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
  static const std::vector<std::string> all{
      "region",        "endpoint", "obs_endpoint", "project", "bucket",    "prefix",
      "code",          "api",      "engine",       "flavor",  "pool",      "workspace",
      "job_name",      "inputs",   "output",       "volumes", "auto_stop", "stop_on_interrupt",
      "single_server", "results",  "credentials",  "wait",    "poll"};
  return all;
}

ModelArtsOptions ModelArtsOptions::read(const Node& node) {
  const Mapping map(node, "modelarts", keys());
  ModelArtsOptions out;
  if (const Node* region = map.find("region")) {
    const std::string name = read_word(*region, "-");
    out.endpoint = "https://modelarts." + name + ".myhuaweicloud.com";
    out.obs_endpoint = "https://obs." + name + ".myhuaweicloud.com";
  }
  if (const Node* endpoint = map.find("endpoint")) out.endpoint = read_endpoint(*endpoint);
  if (const Node* endpoint = map.find("obs_endpoint")) out.obs_endpoint = read_endpoint(*endpoint);
  if (out.endpoint.empty() || out.obs_endpoint.empty())
    node.fail("modelarts needs 'region', or 'endpoint' and 'obs_endpoint'", "region: cn-north-4");
  out.project = read_word(map.at("project"), "");
  out.bucket = read_word(map.at("bucket"), "-.");
  if (const Node* prefix = map.find("prefix")) {
    out.prefix = read_word(*prefix, "-_./");
    if (out.prefix.starts_with('/') || out.prefix.find("..") != std::string::npos)
      prefix->fail("must be the beginning of keys, like 'bench/', got " + prefix->describe());
    if (!out.prefix.ends_with('/')) out.prefix += "/";
  }
  out.code = read_folder(map.at("code"));
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
  if (const Node* name = map.find("job_name")) {
    out.job_name = read_word(*name, "-_");
    if (out.job_name.size() > kMaxJobName)
      name->fail("has at most " + std::to_string(kMaxJobName) + " characters, got " +
                 name->describe());
  }
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
  if (const Node* value = map.find("stop_on_interrupt")) out.stop_on_interrupt = value->boolean();
  if (const Node* value = map.find("single_server")) out.single_server = value->boolean();
  out.results = map.choice("results", {"ais-bench", "perflog"});
  if (const Node* file = map.find("credentials")) out.credentials = read_folder(*file);
  constexpr Nanoseconds kMaxWait = std::chrono::hours(24 * 30);
  if (const Node* wait = map.find("wait"))
    out.wait = wait->duration(std::chrono::seconds(1), kMaxWait);
  if (const Node* poll = map.find("poll"))
    out.poll = poll->duration(std::chrono::milliseconds(10), kMaxWait);
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
