#include "plan/suite.h"

#include <algorithm>

#include "catalog/metrics.h"
#include "config/mapping.h"
#include "config/yaml.h"
#include "core/address.h"
#include "core/pattern.h"
#include "core/sha256.h"
#include "core/text.h"
#include "plan/automl.h"
#include "plan/case_key.h"
#include "plan/cluster.h"
#include "plan/command.h"
#include "plan/dependencies.h"
#include "plan/launchers/slurm_ranks.h"
#include "plan/sweep.h"

namespace assay::plan {

using config::Entry;
using config::Mapping;
using config::Node;

namespace {

std::string read_pattern(const Node& node) {
  std::string text = node.nonempty_text();
  try {
    const Pattern pattern(text);
    const std::size_t named = (pattern.group("value") ? 1 : 0) + (pattern.group("step") ? 1 : 0);
    const bool by_name = pattern.group("value") && pattern.groups() == named;
    if (!by_name && (pattern.groups() != 1 || named != 0))
      node.fail(
          "the pattern needs exactly one group in ( ), or the groups (?P<value> ) and "
          "(?P<step> ); it has " +
              counted(pattern.groups(), "group"),
          "put ( ) around the number, and (?: ) around other groups");
  } catch (const PatternError& e) {
    node.fail("not a regular expression (RE2): " + std::string(e.what()),
              text.find("\\x{") == std::string::npos
                  ? "write it in single quotes, so that backslashes stay as they are"
                  : "a pattern sees bytes: write the character itself in place of its number");
  }
  return text;
}

OutputMetric read_metric(const Entry& entry) {
  const Mapping map(entry.value, "the metric '" + entry.key + "'", suite_keys().at("metric"));
  OutputMetric metric;
  metric.name = entry.key;
  if (trim(entry.key).empty() || entry.key.find_first_of(" \t\n,\"") != std::string::npos)
    entry.value.fail("the name of a metric must be one word, got '" + printable(entry.key) + "'");
  const catalog::KnownMetric* own = catalog::find_known_metric(entry.key);
  if (own != nullptr && !own->by_workload)
    entry.value.fail("'" + entry.key + "' is a metric that Assay computes itself",
                     "choose another name, such as " + entry.key + "_printed");
  metric.pattern = read_pattern(map.at("match"));
  metric.unit = map.text_or("unit", "");
  metric.better = *parse_enum<Better>(map.choice("better", {"neither", "higher", "lower"}));
  metric.reduce = map.choice("reduce", {"last", "first", "mean", "median", "min", "max", "sum"});
  metric.across = map.choice("across", {"mean", "sum", "min", "max", "rank0"});
  metric.kind = *parse_enum<OutputKind>(map.choice("kind", {"number", "speed"}));
  const bool per_second = metric.unit.size() > 2 && metric.unit.ends_with("/s");
  if (metric.kind == OutputKind::speed && !per_second)
    entry.value.fail("a speed has a unit such as it/s, got '" + printable(metric.unit) + "'",
                     "unit: it/s, with what the progress bar prints in place of it");
  return metric;
}

Node read_env(const Node& node) {
  for (const auto& [name, value] : read_variables(node))
    check_placeholders(*node.find(name), value);
  return node;
}

Node read_config(const Node& node) {
  for (const Entry& entry : node.entries()) (void)entry.value.json();
  return node;
}

Node read_declared(const Node& node, const Mapping& map) {
  if (!map.has("command"))
    node.fail("'declared' is for a case with a command of its own",
              "the workload's settings are under 'config'");
  for (const Entry& entry : node.entries())
    if (entry.value.is_override())
      entry.value.fail("'" + entry.key + "' is declared: it says what the command's own files hold",
                       "change it where the command reads it, and then in the suite");
  return read_config(node);
}

// One flavor, or a list of them.
std::vector<std::string> read_rendezvous(const Node& node) {
  if (node.is_scalar()) return {config::choice(node, rendezvous_names())};
  if (node.items().empty())
    node.fail("the list is empty", "one or more of: " + join(rendezvous_names(), ", "));
  std::vector<std::string> out;
  for (const Node& item : node.items()) {
    std::string flavor = config::choice(item, rendezvous_names());
    if (std::ranges::find(out, flavor) != out.end()) item.fail("'" + flavor + "' is listed twice");
    out.push_back(std::move(flavor));
  }
  return out;
}

int read_count(const Mapping& map, const char* key, int fallback, int max) {
  const Node* node = map.find(key);
  return node == nullptr ? fallback : static_cast<int>(node->integer(1, max));
}

void take_repeats(const Mapping& map, const Repeats& otherwise, SuiteCase& out) {
  const Node* node = map.find("repeats");
  const Repeats repeats = node == nullptr ? otherwise : read_repeats(*node);
  out.repeats = repeats.most;
  out.until = repeats.until;
}

constexpr const char* kByDevices = "devices";

// Processes per node: a number, or as many as there are devices.
int read_procs(const Mapping& map, int fallback, bool& by_devices) {
  const Node* node = map.find("procs");
  by_devices = node != nullptr && node->is_scalar() && node->text() == kByDevices;
  return by_devices ? fallback : read_count(map, "procs", fallback, kMaxProcs);
}

CaseNeeds read_needs(const Node& node) {
  static const std::vector<std::string> kPrecisions{"fp64", "fp32", "tf32", "bf16", "fp16", "fp8"};
  const Mapping map(node, "needs", suite_keys().at("needs"));
  CaseNeeds needs;
  needs.devices = read_count(map, "devices", 0, kMaxProcs);
  if (map.has("precision")) needs.precision = map.choice("precision", kPrecisions);
  if (map.has("lacks")) needs.lacks = map.choice("lacks", kPrecisions);
  return needs;
}

// One field of a case key, given as a key of its own. `model: null` is a trap in YAML: the workload
// of that name needs quotes.
std::string word_or(const Mapping& map, const char* key, std::string fallback) {
  const Node* raw = map.node().find(key);
  if (raw != nullptr && raw->is_null())
    raw->fail(std::string("'") + key + "' has no value",
              "to YAML, null is nothing: write 'null' in quotes if you mean the word");
  const Node* node = map.find(key);
  if (node == nullptr) return fallback;
  std::string word = node->nonempty_text();
  if (word.find_first_of(": \t\n/") != std::string::npos)
    node->fail(std::string("'") + key + "' must not contain spaces, ':' or '/', got " +
               node->describe());
  return word;
}

void read_identity(const Mapping& map, const SuiteDefaults& defaults, const std::string& vendor,
                   SuiteCase& out) {
  if (const Node* key_node = map.find("case")) {
    const CaseKey key = parse_case_key(*key_node);
    out.model = key.model;
    out.framework = key.framework;
    out.hardware = key.hardware;
    for (const char* field : {"model", "framework", "hardware", "nodes", "procs", "repeats"})
      if (const Node* again = map.find(field); again != nullptr && !again->is_override())
        again->fail(std::string("'") + field + "' is given by the case key already",
                    "change the key, or leave out 'case'");
    out.model = word_or(map, "model", key.model);
    out.framework = word_or(map, "framework", key.framework);
    out.hardware = word_or(map, "hardware", key.hardware);
    out.nodes = read_count(map, "nodes", key.nodes, kMaxNodes);
    out.procs = read_procs(map, key.procs, out.procs_by_devices);
    take_repeats(map, {key.repeats}, out);
    out.name = map.text_or("name", key_node->text());
  } else {
    const std::string name = map.text_or("name", "");
    out.model = word_or(map, "model", name);
    if (out.model.empty())
      map.node().fail("a case needs 'case', 'model' or 'name'",
                      "for example: matmul:native:cpu:1:2:3");
    const char* framework = map.has("command")  ? "command"
                            : map.has("automl") ? "libtorch"
                                                : "native";
    out.framework = word_or(map, "framework", framework);
    out.hardware = word_or(map, "hardware", vendor);
    out.nodes = read_count(map, "nodes", 1, kMaxNodes);
    out.procs = read_procs(map, 1, out.procs_by_devices);
    take_repeats(map, defaults.repeats.value_or(Repeats{}), out);
    out.name = name.empty() ? CaseKey{out.model, out.framework, out.hardware,
                                      out.nodes, out.procs,     out.repeats}
                                  .text()
                            : name;
  }
  const Node* name_node = map.find("name");
  check_case_name(name_node != nullptr ? *name_node : map.node(), out.name);
}

// One of the names, or a list of CPU sets, one per local rank.
Bind read_bind(const Node& node) {
  constexpr const char* kAdvice =
      "none, cores, numa, or a list for every rank of a node: ['0-3', '4-7']";
  Bind bind;
  if (node.is_scalar()) {
    const auto mode = parse_enum<BindMode>(node.text());
    if (!mode || *mode == BindMode::listed)
      node.fail("expected how ranks are bound, got " + node.describe(), kAdvice);
    bind.mode = *mode;
    return bind;
  }
  bind.mode = BindMode::listed;
  for (const Node& item : node.items()) {
    const auto cpus = CpuSet::parse(item.text());
    if (!cpus || cpus->empty())
      item.fail("expected CPUs such as 0-3,8, got " + item.describe(), kAdvice);
    bind.lists.push_back(*cpus);
  }
  if (bind.lists.empty()) node.fail("the list is empty", kAdvice);
  return bind;
}

Container read_container(const Node& node) {
  const Mapping map(node, "container", suite_keys().at("container"));
  Container container;
  container.runtime =
      map.choice("runtime", {"podman", "docker", "apptainer", "singularity", "enroot", kPyxis});
  container.image = map.at("image").nonempty_text();
  if (container.image.starts_with('-'))
    map.at("image").fail("not an image: " + map.at("image").describe());
  container.runtime_options = map.texts_or_empty("runtime_options");
  container.options = map.texts_or_empty("options");
  container.mounts = map.texts_or_empty("mounts");
  for (const std::string& mount : container.mounts)
    if (mount.find(':') == std::string::npos || !mount.starts_with('/'))
      map.at("mounts").fail("a mount is '/source:/target' or '/source:/target:ro', got '" +
                            printable(mount) + "'");
  container.shm_size = map.text_or("shm_size", "");
  container.user = map.text_or("user", "");
  container.pull = map.choice("pull", {"missing", "never", "always"});
  container.load = map.text_or("load", "");
  if (const Node* timeout = map.find("timeout"))
    container.timeout = timeout->duration(std::chrono::seconds(1), std::chrono::hours(24));
  if (container.runtime != "podman" && container.runtime != "docker")
    for (const char* key : {"shm_size", "user", "pull", "load"})
      if (const Node* given = map.find(key))
        given->fail(
            "'" + std::string(key) + "' is for podman and docker, not for " + container.runtime,
            "leave it out: " + container.runtime +
                " runs as the user, shares /dev/shm, and takes an image file or a URL");
  return container;
}

SuiteCase read_case(const Node& node, const SuiteDefaults& defaults, const std::string& vendor) {
  SuiteCase out;
  out.node = node;
  if (node.is_scalar()) {
    const CaseKey key = parse_case_key(node);
    out.name = node.text();
    out.model = key.model;
    out.framework = key.framework;
    out.hardware = key.hardware;
    out.nodes = key.nodes;
    out.procs = key.procs;
    out.repeats = key.repeats;
    return out;
  }
  const Mapping map(node, "a case", suite_keys().at("case"));
  read_identity(map, defaults, vendor, out);
  if (const Node* needs = map.find("needs")) out.needs = read_needs(*needs);
  const bool shell = map.has("shell") && map.at("shell").boolean();
  if (const Node* command = map.find("command"))
    out.command = read_command(*command, shell);
  else if (map.has("shell"))
    map.at("shell").fail("'shell' needs 'command'");
  if (const Node* automl = map.find("automl")) {
    if (map.has("command"))
      map.at("command").fail("a case has a 'command' or 'automl', not both",
                             "the workers of an experiment are Assay's own");
    out.automl = read_automl(*automl);
    if (map.has("launch") && map.at("launch").text() != "per-rank")
      map.at("launch").fail("the workers of an experiment are launched per-rank");
  }
  if (map.has("launch")) out.launch = map.choice("launch", catalog::launch_modes());
  if (const Node* flavors = map.find("rendezvous")) out.rendezvous = read_rendezvous(*flavors);
  if (const Node* container = map.find("container")) out.container = read_container(*container);
  out.data = map.text_or("data", "");
  if (const Node* config = map.find("config")) out.config = read_config(*config);
  if (const Node* declared = map.find("declared")) out.declared = read_declared(*declared, map);
  if (const Node* env = map.find("env")) out.env = read_env(*env);
  out.workdir = map.text_or("workdir", "");
  if (const Node* metrics = map.find("metrics"))
    for (const Entry& entry : metrics->entries()) out.metrics.push_back(read_metric(entry));
  if (const Node* target = map.find("target")) out.target = catalog::read_target(*target);
  if (const Node* peak = map.find("peak_flops")) {
    out.peak_flops = peak->number();
    if (*out.peak_flops <= 0) peak->fail("expected FLOP/s above 0, got " + peak->describe());
    out.peak_flops_origin = peak->origin();
  }
  if (const Node* warmup = map.find("warmup_steps"))
    out.warmup_steps = catalog::read_warmup_steps(*warmup);
  if (const Node* warmup = map.find("warmup_rounds"))
    out.warmup_rounds = read_warmup_rounds(*warmup);
  if (const Node* drop = map.find("drop_caches")) out.drop_caches = drop->boolean();
  if (const Node* bind = map.find("bind")) out.bind = read_bind(*bind);
  if (const Node* limits = map.find("limits")) out.limits = catalog::read_limits(*limits);
  if (const Node* rules = map.find("rules")) out.rules = catalog::read_rule_changes(*rules);
  if (const Node* after = map.find("after")) out.after = read_after(*after);
  if (const Node* only_if = map.find("only_if"))
    out.only_if = read_only_if(*only_if, out.only_if_nodes);
  if (const Node* hooks = map.find("hooks")) out.hooks = read_hooks(*hooks);
  return out;
}

SuiteDefaults read_defaults(const Node& node) {
  const Mapping map(node, "defaults", suite_keys().at("defaults"));
  SuiteDefaults defaults;
  if (const Node* limits = map.find("limits")) defaults.limits = catalog::read_limits(*limits);
  if (const Node* env = map.find("env")) defaults.env = read_env(*env);
  if (const Node* rules = map.find("rules")) defaults.rules = catalog::read_rule_changes(*rules);
  if (const Node* repeats = map.find("repeats")) defaults.repeats = read_repeats(*repeats);
  if (const Node* warmup = map.find("warmup_steps"))
    defaults.warmup_steps = catalog::read_warmup_steps(*warmup);
  if (const Node* warmup = map.find("warmup_rounds"))
    defaults.warmup_rounds = read_warmup_rounds(*warmup);
  if (const Node* drop = map.find("drop_caches")) defaults.drop_caches = drop->boolean();
  if (const Node* bind = map.find("bind")) defaults.bind = read_bind(*bind);
  return defaults;
}

// Numeric, because a static agent looks up no names.
std::string read_listen(const Node& node) {
  std::string text = node.nonempty_text();
  if (const auto endpoint = parse_endpoint(text); !endpoint || endpoint->port == 0)
    node.fail("'" + text + "' is not an address and a port",
              "for example 127.0.0.1:9400, 0.0.0.0:9400 or [::1]:9400");
  return text;
}

Telemetry read_telemetry(const Node& node) {
  using namespace std::chrono_literals;
  const Mapping map(node, "telemetry", suite_keys().at("telemetry"));
  Telemetry telemetry;
  if (const Node* interval = map.find("interval"))
    telemetry.interval = interval->duration(100ms, 60s);
  if (const Node* enabled = map.find("enabled")) telemetry.enabled = enabled->boolean();
  if (const Node* prometheus = map.find("prometheus")) {
    const Mapping at(*prometheus, "telemetry.prometheus", suite_keys().at("telemetry.prometheus"));
    telemetry.prometheus = at.has("listen") ? read_listen(at.at("listen")) : "127.0.0.1:9400";
  }
  return telemetry;
}

std::map<std::string, std::string> read_submission(const Node& node) {
  const Mapping map(node, "submission", suite_keys().at("submission"));
  std::map<std::string, std::string> out;
  for (const std::string& key : suite_keys().at("submission"))
    if (map.has(key)) out[key] = map.at(key).nonempty_text();
  if (map.has("division")) (void)map.choice("division", {"closed", "open"});
  if (map.has("status")) (void)map.choice("status", {"onprem", "cloud", "preview", "research"});
  return out;
}

}  // namespace

std::map<std::string, std::string> read_variables(const Node& node) {
  std::map<std::string, std::string> out;
  for (const Entry& entry : node.entries()) {
    if (entry.key.empty() || entry.key.find('=') != std::string::npos)
      throw Error(ErrorKind::config, "not a variable name: '" + printable(entry.key) + "'",
                  entry.where());
    if (entry.value.is_null())
      entry.value.fail("the variable " + entry.key + " has no value",
                       "write " + entry.key + ": '' for an empty one");
    out[entry.key] = entry.value.text();
  }
  return out;
}

Suite read_suite(const Node& root) {
  if (root.is_null())
    root.fail("the suite is empty", "it needs at least 'cases'; see docs/suite.md");
  const Mapping map(root, "a suite", suite_keys().at(""));
  Suite suite;
  suite.root = root;
  suite.file = root.source() == nullptr ? "" : root.source()->path;
  suite.name = map.has("name") ? map.at("name").nonempty_text()
                               : std::filesystem::path(suite.file).stem().string();
  suite.description = map.text_or("description", "");
  if (const Node* vendor = map.find("vendor")) {
    suite.vendor = vendor->nonempty_text();
    suite.vendor_node = *vendor;
  }
  if (const Node* cluster = map.find("cluster")) suite.cluster = read_cluster(*cluster);
  if (const Node* telemetry = map.find("telemetry")) suite.telemetry = read_telemetry(*telemetry);
  if (const Node* container = map.find("container")) suite.container = read_container(*container);
  if (const Node* baseline = map.find("baseline"); baseline != nullptr && !baseline->is_off())
    suite.baseline = *baseline;
  if (const Node* submission = map.find("submission"))
    suite.submission = read_submission(*submission);
  if (const Node* defaults = map.find("defaults")) suite.defaults = read_defaults(*defaults);
  if (const Node* hooks = map.find("hooks")) suite.hooks = read_hooks(*hooks);
  const Node& cases = map.at("cases");
  if (cases.items().empty()) cases.fail("the suite has no cases");
  std::map<std::string, std::string> places;
  for (const Node& item : cases.items()) {
    SuiteCase next = read_case(first_point(item), suite.defaults, suite.vendor);
    next.node = item;
    const auto [first, fresh] = places.try_emplace(next.name, item.where());
    if (!fresh)
      item.fail("the case '" + next.name + "' exists twice, first at " + first->second,
                "give one of them another 'name', or raise its repeats");
    suite.cases.push_back(std::move(next));
  }
  return suite;
}

Suite parse_suite(std::string_view yaml, const std::string& file) {
  Suite suite = read_suite(config::parse_yaml(yaml, {file, file, false}));
  suite.sha256 = sha256(yaml);
  return suite;
}

Suite load_suite(const std::filesystem::path& path) {
  return parse_suite(config::read_yaml_text(path), path.string());
}

}  // namespace assay::plan
