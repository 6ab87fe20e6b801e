#include <algorithm>
#include <set>

#include "catalog/catalog.h"
#include "config/mapping.h"
#include "config/yaml.h"
#include "core/pattern.h"
#include "core/text.h"

namespace assay::catalog {

using config::Entry;
using config::Mapping;
using config::Node;
using telemetry::DeviceSource;

namespace {

void check_name(const Node& name, const std::filesystem::path& path) {
  if (name.text() != path.stem().string())
    name.fail(
        "the name is " + name.describe() + ", but the file is '" + path.filename().string() + "'",
        "they must agree, so that a name leads to its file");
}

void check_pattern(const Node& node, std::size_t groups) {
  try {
    const Pattern pattern(node.text());
    if (pattern.groups() != groups)
      node.fail("the pattern has " + std::to_string(pattern.groups()) + " groups, but " +
                std::to_string(groups) + " fields are named");
  } catch (const PatternError& e) {
    node.fail(std::string("not a regular expression (RE2): ") + e.what());
  }
}

DeviceQuery read_query(const Node& node) {
  const Mapping map(node, "query", {"command", "pattern", "fields"});
  DeviceQuery query;
  query.command = map.at("command").texts();
  if (query.command.empty()) map.at("command").fail("the command is empty");
  query.fields = map.at("fields").texts();
  query.pattern = map.at("pattern").nonempty_text();
  return query;
}

DeviceSource read_sample(const Node& node, const std::string& vendor) {
  const Mapping map(node, "a sample source",
                    {"mode", "format", "command", "pattern", "fields", "monitor_log"});
  DeviceSource source;
  source.vendor = vendor;
  source.mode = map.choice("mode", {"loop", "once"}) == "loop" ? DeviceSource::Mode::loop
                                                               : DeviceSource::Mode::once;
  const std::string format = map.choice("format", {"csv", "regex", "assay"});
  source.format = format == "csv"     ? DeviceSource::Format::csv
                  : format == "regex" ? DeviceSource::Format::regex
                                      : DeviceSource::Format::assay;
  source.command = map.at("command").texts();
  if (source.command.empty()) map.at("command").fail("the command is empty");
  if (source.format != DeviceSource::Format::assay) source.fields = map.at("fields").texts();
  if (source.format == DeviceSource::Format::regex)
    source.pattern = map.at("pattern").nonempty_text();
  source.monitor_log = map.text_or("monitor_log", vendor + "_monitor.log");
  return source;
}

Hardware read_hardware(const Entry& entry) {
  static const std::vector<std::string> kPrecisions{"fp64", "tf32", "fp32", "fp16",       "bf16",
                                                    "fp8",  "int8", "fp4",  "fp64_tensor"};
  const Mapping map(entry.value, "the hardware '" + entry.key + "'",
                    {"description", "device_name", "memory", "peak_flops"});
  Hardware hardware;
  hardware.name = entry.key;
  hardware.origin = entry.value.origin();
  hardware.description = map.text_or("description", "");
  hardware.device_name = map.text_or("device_name", "");
  if (const Node* memory = map.find("memory")) hardware.memory_bytes = memory->size();
  if (const Node* peaks = map.find("peak_flops")) {
    const Mapping by_precision(*peaks, "peak_flops", kPrecisions);
    for (const Entry& peak : peaks->entries()) {
      const double flops = peak.value.number();
      if (flops <= 0) peak.value.fail("expected FLOP/s above 0, got " + peak.value.describe());
      hardware.peak_flops.emplace(peak.key, flops);
    }
  }
  return hardware;
}

bool same_type(const Json& a, const Json& b) {
  return a.is_number_integer() ? b.is_number_integer() : a.type() == b.type();
}

// A workload's defaults: its own, over those of the program options that it names.
Node read_config(const Mapping& map, const OptionSets& options) {
  Node base = Node::mapping({}, map.node().source(), map.node().line(), 1);
  std::vector<std::string> known;
  if (const Node* name = map.find("options")) {
    for (const auto& [workload, set] : options) known.push_back(workload);
    config::require_known(*name, "set of options", name->text(), known);
    base = options.at(name->text()).defaults;
    known.clear();
    for (const Entry& entry : base.entries()) known.push_back(entry.key);
  }
  const Node* defaults = map.find("config");
  if (defaults == nullptr) return base;
  for (const Entry& entry : defaults->entries()) {
    if (entry.value.is_null())
      entry.value.fail("'" + entry.key + "' needs a default, which also gives its type");
    const Json value = entry.value.json();
    if (!map.has("options")) continue;
    config::require_known(entry.value, "config key", entry.key, known);
    const Json option = base.find(entry.key)->json();
    if (!same_type(option, value))
      entry.value.fail("'" + entry.key + "' is of another type than the option, which is " +
                       dump_line(option) + " by default");
    options.at(map.at("options").text()).check(entry.key, entry.value);
  }
  return overlaid(base, *defaults);
}

ConfigOverride read_override(const Node& node, const Node& defaults) {
  const Mapping map(node, "an override", {"vendor", "hardware", "nodes", "procs", "config"});
  ConfigOverride out;
  out.vendor = map.text_or("vendor", "");
  out.hardware = map.text_or("hardware", "");
  if (const Node* nodes = map.find("nodes"))
    out.nodes = static_cast<int>(nodes->integer(1, 100000));
  if (const Node* procs = map.find("procs")) out.procs = static_cast<int>(procs->integer(1, 4096));
  out.config = map.at("config");
  std::vector<std::string> known;
  for (const Entry& entry : defaults.entries()) known.push_back(entry.key);
  for (const Entry& entry : out.config.entries())
    config::require_known(entry.value, "config key", entry.key, known);
  return out;
}

std::map<std::string, std::string> read_text_map(const Node& node) {
  std::map<std::string, std::string> out;
  for (const Entry& entry : node.entries()) out.emplace(entry.key, entry.value.text());
  return out;
}

}  // namespace

Vendor load_vendor(const std::filesystem::path& path, const std::string& display) {
  const Mapping map(config::load_yaml(path, display), "a vendor",
                    {"name", "description", "visible_devices", "container", "query", "state",
                     "samples", "hardware"});
  check_name(map.at("name"), path);
  Vendor vendor;
  vendor.name = map.at("name").nonempty_text();
  vendor.description = map.text_or("description", "");
  vendor.visible_devices = map.text_or("visible_devices", "");
  vendor.origin = map.node().origin();
  vendor.node = map.node();
  if (const Node* container = map.find("container"))
    vendor.container_options =
        Mapping(*container, "container", {"options"}).texts_or_empty("options");
  if (const Node* query = map.find("query")) vendor.query = read_query(*query);
  if (const Node* state = map.find("state")) {
    const Mapping command(*state, "state", {"command"});
    vendor.state = command.at("command").texts();
    if (vendor.state.empty()) command.at("command").fail("the command is empty");
  }
  if (const Node* samples = map.find("samples"))
    for (const Node& sample : samples->items())
      vendor.samples.push_back(read_sample(sample, vendor.name));
  if (const Node* hardware = map.find("hardware"))
    for (const Entry& entry : hardware->entries())
      vendor.hardware.emplace(entry.key, read_hardware(entry));
  return vendor;
}

void check_vendor(const Vendor& vendor) {
  if (const Node* query = vendor.node.find("query"); query != nullptr && vendor.query)
    check_pattern(*query->find("pattern"), vendor.query->fields.size());
  for (const auto& [name, hardware] : vendor.hardware)
    if (!hardware.device_name.empty())
      check_pattern(*vendor.node.find("hardware")->find(name)->find("device_name"), 0);
  const Node* samples = vendor.node.find("samples");
  for (std::size_t i = 0; i < vendor.samples.size(); ++i) {
    DeviceSource source = vendor.samples[i];
    const Node node = samples == nullptr ? Node() : samples->items()[i];
    if (const Node* pattern = node.find("pattern"); pattern != nullptr && !source.pattern.empty())
      check_pattern(*pattern, source.fields.size());
    for (std::string& word : source.command) word = expand_some(word, {{"bindir", "/bin"}});
    telemetry::validate(source, node.where());
  }
}

Workload load_workload(const std::filesystem::path& path, const std::string& display,
                       const OptionSets& options) {
  const Mapping map(
      config::load_yaml(path, display), "a workload",
      {"name", "description", "frameworks", "command", "launch", "options", "config", "fixed",
       "data_keys", "overrides", "env", "target", "warmup_steps", "limits", "rules", "headline"});
  check_name(map.at("name"), path);
  Workload workload;
  workload.name = map.at("name").nonempty_text();
  workload.description = map.text_or("description", "");
  workload.origin = map.node().origin();
  workload.frameworks = map.at("frameworks").texts();
  if (workload.frameworks.empty()) map.at("frameworks").fail("name at least one framework");
  workload.command = map.at("command").texts();
  if (workload.command.empty()) map.at("command").fail("the command is empty");
  workload.launch = map.choice("launch", launch_modes());
  workload.config = read_config(map, options);
  if (map.has("options")) workload.options = options.at(map.at("options").text());
  std::vector<std::string> keys;
  for (const Entry& entry : workload.config.entries()) keys.push_back(entry.key);
  if (const Node* fixed = map.find("fixed")) {
    for (const Node& key : fixed->items())
      config::require_known(key, "config key", key.text(), keys);
    workload.fixed = fixed->texts();
  }
  if (const Node* data = map.find("data_keys")) {
    for (const Node& key : data->items()) {
      config::require_known(key, "config key", key.text(), keys);
      if (!workload.config.find(key.text())->json().is_string())
        key.fail("'" + key.text() + "' is not text, so it cannot be a path");
    }
    workload.data_keys = data->texts();
  }
  if (const Node* overrides = map.find("overrides"))
    for (const Node& item : overrides->items())
      workload.overrides.push_back(read_override(item, workload.config));
  if (const Node* env = map.find("env")) workload.env = read_text_map(*env);
  if (const Node* target = map.find("target")) workload.target = read_target(*target);
  if (const Node* warmup = map.find("warmup_steps"))
    workload.warmup_steps = read_warmup_steps(*warmup);
  if (const Node* limits = map.find("limits")) workload.limits = read_limits(*limits);
  if (const Node* rules = map.find("rules")) workload.rules = read_rule_changes(*rules);
  if (const Node* headline = map.find("headline")) workload.headline = *headline;
  return workload;
}

std::vector<Rule> load_rules(const std::filesystem::path& path, const std::string& display) {
  return read_rules(config::load_yaml(path, display));
}

std::vector<Rule> read_rules(const Node& file) {
  const Mapping top(file, "a rule file", {"description", "rules"});
  std::vector<Rule> rules;
  std::set<std::string> seen;
  for (const Node& item : top.at("rules").items()) {
    const Mapping map(item, "a rule",
                      {"id", "aspect", "scope", "fact", "min", "max", "required", "absent",
                       "severity", "reason", "advice"});
    Rule rule;
    rule.id = map.at("id").nonempty_text();
    if (!seen.insert(rule.id).second)
      map.at("id").fail("the rule '" + rule.id + "' exists twice in this file");
    if (map.has("aspect"))
      rule.aspect = *parse_enum<Aspect>(map.choice("aspect", enum_texts<Aspect>()));
    rule.scope = *parse_enum<RuleScope>(map.choice("scope", enum_texts<RuleScope>()));
    rule.fact = map.at("fact").nonempty_text();
    if (const Node* min = map.find("min")) rule.min = min->number();
    if (const Node* max = map.find("max")) rule.max = max->number();
    if (rule.min && rule.max && *rule.min > *rule.max) map.at("min").fail("min is above max");
    if (const Node* required = map.find("required")) rule.required = required->boolean();
    if (const Node* absent = map.find("absent")) {
      rule.absent = absent->nonempty_text();
      if (!rule.required)
        absent->fail("'absent' is the reason of a rule that is required",
                     "set required: true, or leave it out");
    }
    if (!rule.min && !rule.max && !rule.required)
      item.fail("the rule '" + rule.id + "' has no min, no max and is not required",
                "such a rule could never be violated");
    rule.severity = *parse_enum<Severity>(map.choice("severity", enum_texts<Severity>()));
    rule.reason = map.at("reason").nonempty_text();
    rule.advice = map.text_or("advice", "");
    const std::map<std::string, std::string> known{
        {"value", ""}, {"min", ""}, {"max", ""}, {"detail", ""}};
    (void)expand(rule.reason, known, map.at("reason").where());
    (void)expand(rule.advice, known, item.where());
    rule.origin = item.origin();
    rules.push_back(std::move(rule));
  }
  return rules;
}

Json to_json(const Vendor& vendor, const std::map<std::string, std::string>& paths) {
  Json json{{"name", vendor.name},
            {"description", vendor.description},
            {"visible_devices", vendor.visible_devices},
            {"container", {{"options", vendor.container_options}}}};
  if (vendor.query)
    json["query"] = {{"command", vendor.query->command},
                     {"pattern", vendor.query->pattern},
                     {"fields", vendor.query->fields}};
  if (!vendor.state.empty()) {
    json["state"]["command"] = Json::array();
    for (const std::string& word : vendor.state)
      json["state"]["command"].push_back(expand_some(word, paths));
  }
  json["samples"] = Json::array();
  for (DeviceSource source : vendor.samples) {
    for (std::string& word : source.command) word = expand_some(word, paths);
    json["samples"].push_back(telemetry::to_json(source));
  }
  json["hardware"] = Json::object();
  for (const auto& [name, hardware] : vendor.hardware) {
    Json& entry = json["hardware"][name];
    entry["description"] = hardware.description;
    entry["peak_flops"] = hardware.peak_flops;
    if (hardware.memory_bytes) entry["memory_bytes"] = *hardware.memory_bytes;
    if (!hardware.device_name.empty()) entry["device_name"] = hardware.device_name;
  }
  return json;
}

}  // namespace assay::catalog
