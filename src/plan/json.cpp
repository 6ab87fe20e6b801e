#include <algorithm>

#include "core/error.h"
#include "core/json_access.h"
#include "core/json_fields.h"
#include "core/text.h"
#include "plan/dependencies.h"
#include "plan/plan.h"
#include "plan/rule_set.h"

namespace assay::plan {

namespace {

Json to_json(const OutputMetric& metric) {
  Json json{{"name", metric.name},     {"match", metric.pattern},
            {"unit", metric.unit},     {"better", std::string(to_text(metric.better))},
            {"reduce", metric.reduce}, {"across", metric.across}};
  if (metric.kind != OutputKind::number) json["kind"] = std::string(to_text(metric.kind));
  return json;
}

Json to_json(const Target& target) {
  return {{"metric", target.metric},
          {"value", target.value},
          {"better", std::string(to_text(target.better))}};
}

// Durations are whole nanoseconds in plan.json: exact, unlike seconds in floating point.
Json to_json(const Limits& limits) {
  return {{"time_ns", limits.time.count()},
          {"stall_ns", limits.stall.count()},
          {"grace_ns", limits.grace.count()},
          {"output_bytes", limits.output_bytes}};
}

Json to_json(const Container& container) {
  return {{"runtime", container.runtime},
          {"image", container.image},
          {"runtime_options", container.runtime_options},
          {"options", container.options},
          {"mounts", container.mounts},
          {"shm_size", container.shm_size},
          {"user", container.user},
          {"pull", container.pull},
          {"load", container.load},
          {"timeout_ns", container.timeout.count()}};
}

Json to_json(const Condition& condition) {
  Json json{{"case", condition.of}};
  if (!condition.verdicts.empty()) json["verdicts"] = condition.verdicts;
  if (!condition.metric.empty()) json["metric"] = condition.metric;
  if (condition.min) json["min"] = *condition.min;
  if (condition.max) json["max"] = *condition.max;
  json["origin"] = condition.origin;
  return json;
}

Json to_json(const std::vector<Hook>& hooks) {
  Json json = Json::array();
  for (const Hook& hook : hooks)
    json.push_back({{"name", hook.name},
                    {"when", to_text(hook.when)},
                    {"on", to_text(hook.on)},
                    {"command", hook.command},
                    {"time_ns", hook.time.count()},
                    {"required", hook.required},
                    {"origin", hook.origin}});
  return json;
}

Json to_json(const Sweep& sweep) {
  Json json{{"name", sweep.name}, {"origin", sweep.origin}, {"dimensions", Json::array()}};
  for (const SweepDimension& one : sweep.dimensions)
    json["dimensions"].push_back({{"key", one.key}, {"label", one.label}, {"values", one.values}});
  if (sweep.excluded > 0) json["excluded"] = sweep.excluded;
  return json;
}

Json to_json(const CasePlan& plan, const std::vector<catalog::Rule>& rules) {
  Json json{{"name", plan.name},           {"model", plan.model},
            {"framework", plan.framework}, {"hardware", plan.hardware},
            {"nodes", plan.nodes},         {"procs", plan.procs},
            {"repeats", plan.repeats},     {"launch", std::string(to_text(plan.launch))},
            {"command", plan.command},     {"env", plan.env},
            {"workdir", plan.workdir},     {"data", plan.data},
            {"config", plan.config},       {"config_origin", plan.config_origin}};
  if (plan.until)
    json["until"] = {{"half_width", plan.until->half_width}, {"min", plan.until->min}};
  if (plan.warmup_rounds > 0) json["warmup_rounds"] = plan.warmup_rounds;
  if (plan.config_use != ConfigUse::none) json["config_use"] = to_text(plan.config_use);
  if (!plan.declared.empty()) json["declared"] = plan.declared;
  if (!plan.origin.empty()) json["origin"] = plan.origin;
  if (plan.rendezvous != CasePlan{}.rendezvous) json["rendezvous"] = plan.rendezvous;
  if (plan.container) json["container"] = to_json(*plan.container);
  if (!plan.data_paths.empty()) json["data_paths"] = plan.data_paths;
  if (plan.drop_caches) json["drop_caches"] = true;
  if (plan.bind.mode != BindMode::none) json["bind"] = fields_to_json(plan.bind);
  json["metrics"] = Json::array();
  for (const OutputMetric& metric : plan.metrics) json["metrics"].push_back(to_json(metric));
  if (plan.target) json["target"] = to_json(*plan.target);
  if (plan.peak_flops) json["peak_flops"] = *plan.peak_flops;
  json["peak_flops_origin"] = plan.peak_flops_origin;
  json["warmup_steps"] = plan.warmup_steps;
  if (plan.automl) json["automl"] = automl::to_json(*plan.automl);
  json["limits"] = to_json(plan.limits);
  json["rules"] = case_rules_to_json(plan.rules, rules);
  if (plan.rule_changes) json["rule_changes"] = catalog::to_json(*plan.rule_changes);
  if (!plan.headline.empty()) json["headline"] = plan.headline;
  if (plan.sweep) json["sweep"] = {{"name", plan.sweep->sweep}, {"values", plan.sweep->values}};
  if (!plan.after.empty()) json["after"] = plan.after;
  for (const Condition& condition : plan.only_if) json["only_if"].push_back(to_json(condition));
  if (!plan.hooks.empty()) json["hooks"] = to_json(plan.hooks);
  return json;
}

Json to_json(const Host& host) {
  Json json{{"name", host.name}, {"slots", host.slots}};
  if (!host.server_id.empty()) json["server_id"] = host.server_id;
  if (!host.device_ips.empty()) json["device_ips"] = host.device_ips;
  if (!host.super_pod.empty()) json["super_pod"] = host.super_pod;
  if (!host.super_device_ids.empty()) json["super_device_ids"] = host.super_device_ids;
  if (!host.ib_addr.empty()) json["ib_addr"] = host.ib_addr;
  if (host.ssh != SshAccess{}) json["ssh"] = fields_to_json(host.ssh);
  if (!host.env.empty()) json["env"] = host.env;
  if (!host.reached.empty()) json["reached"] = host.reached;
  return json;
}

Json to_json(const Cluster& cluster) {
  Json hosts = Json::array();
  for (const Host& host : cluster.hosts) hosts.push_back(to_json(host));
  Json json{{"launcher", cluster.launcher()},      {"hosts", std::move(hosts)},
            {"options", to_json(cluster.options)}, {"traits", fields_to_json(cluster.traits)},
            {"master_addr", cluster.master_addr},  {"master_port", cluster.master_port},
            {"retries", cluster.retries}};
  if (!cluster.rank_table.empty()) json["rank_table"] = cluster.rank_table;
  if (cluster.min_nodes > 0) json["min_nodes"] = cluster.min_nodes;
  return json;
}

constexpr const char* kPlanAdvice =
    "plan.json is written by 'assay run'; it is not meant to be edited";

Limits read_limits(const JsonReader& fields) {
  Limits limits;
  limits.time = Nanoseconds(fields.integer<std::int64_t>("time_ns"));
  limits.stall = Nanoseconds(fields.integer<std::int64_t>("stall_ns"));
  limits.grace = Nanoseconds(fields.integer<std::int64_t>("grace_ns"));
  limits.output_bytes = fields.integer<std::uint64_t>("output_bytes");
  return limits;
}

Container read_container(const JsonReader& fields) {
  Container container;
  container.runtime = fields.text("runtime");
  container.image = fields.text("image");
  container.runtime_options = fields.texts("runtime_options");
  container.options = fields.texts("options");
  container.mounts = fields.texts("mounts");
  container.shm_size = fields.text("shm_size");
  container.user = fields.text("user");
  container.pull = fields.text("pull");
  container.load = fields.text("load");
  container.timeout = Nanoseconds(fields.integer<std::int64_t>("timeout_ns"));
  return container;
}

Condition read_plan_condition(const JsonReader& fields) {
  Condition condition;
  condition.of = fields.text("case");
  if (fields.has("verdicts")) condition.verdicts = fields.texts("verdicts");
  condition.metric = fields.text_or_empty("metric");
  if (fields.has("min")) condition.min = fields.number("min");
  if (fields.has("max")) condition.max = fields.number("max");
  condition.origin = fields.text("origin");
  return condition;
}

std::vector<Hook> read_plan_hooks(const JsonReader& fields) {
  std::vector<Hook> hooks;
  if (!fields.has("hooks")) return hooks;
  for (const Json& item : fields.array("hooks")) {
    const JsonReader hook(item, fields.where() + ": hooks", kPlanAdvice);
    hooks.push_back({hook.text("name"), hook.choice<HookTime>("when"), hook.choice<HookPlace>("on"),
                     hook.texts("command"), Nanoseconds(hook.integer<std::int64_t>("time_ns")),
                     hook.boolean("required"), hook.text("origin")});
    // The name becomes part of a path.
    if (!is_hook_name(hooks.back().name))
      throw Error(ErrorKind::config,
                  "not the name of a hook: '" + printable(hooks.back().name) + "'", hook.where(),
                  kPlanAdvice);
  }
  return hooks;
}

std::vector<Json> read_values(const JsonReader& fields) {
  const Json& values = fields.array("values");
  return {values.begin(), values.end()};
}

Sweep read_sweep(const JsonReader& fields) {
  Sweep sweep{fields.text("name"), fields.text("origin")};
  for (const Json& item : fields.array("dimensions")) {
    const JsonReader one(item, fields.where() + ": dimensions", kPlanAdvice);
    sweep.dimensions.push_back({one.text("key"), one.text("label"), read_values(one)});
  }
  if (fields.has("excluded")) sweep.excluded = fields.integer("excluded");
  return sweep;
}

CasePlan read_case(const JsonReader& fields, const std::vector<catalog::Rule>& rules) {
  CasePlan plan;
  plan.name = fields.text("name");
  plan.model = fields.text("model");
  plan.framework = fields.text("framework");
  plan.hardware = fields.text("hardware");
  plan.nodes = fields.integer("nodes");
  plan.procs = fields.integer("procs");
  plan.repeats = fields.integer("repeats");
  if (fields.has("until")) {
    const JsonReader until = fields.fields("until");
    plan.until = RepeatUntil{until.number("half_width"), until.integer("min")};
  }
  if (fields.has("warmup_rounds")) plan.warmup_rounds = fields.integer("warmup_rounds");
  plan.launch = fields.choice<LaunchMode>("launch");
  if (fields.has("rendezvous")) plan.rendezvous = fields.texts("rendezvous");
  plan.command = fields.texts("command");
  plan.env = fields.text_map("env");
  if (fields.has("container")) plan.container = read_container(fields.fields("container"));
  plan.workdir = fields.text("workdir");
  plan.data = fields.text("data");
  if (fields.has("data_paths")) plan.data_paths = fields.texts("data_paths");
  if (fields.has("drop_caches")) plan.drop_caches = fields.boolean("drop_caches");
  if (fields.has("bind")) plan.bind = fields_from_json<Bind>(fields.object("bind"), "bind");
  plan.config = fields.object("config");
  plan.config_origin = fields.text_map("config_origin");
  if (fields.has("config_use")) plan.config_use = fields.choice<ConfigUse>("config_use");
  if (fields.has("declared")) plan.declared = fields.object("declared");
  if (fields.has("origin")) plan.origin = fields.text_map("origin");
  for (const Json& item : fields.array("metrics")) {
    const JsonReader metric(item, fields.where() + ": metrics", kPlanAdvice);
    plan.metrics.push_back(
        {metric.text("name"), metric.text("match"), metric.text("unit"),
         metric.choice<Better>("better"), metric.text("reduce"), metric.text("across"),
         metric.has("kind") ? metric.choice<OutputKind>("kind") : OutputKind::number});
  }
  if (fields.has("target")) {
    const JsonReader target = fields.fields("target");
    plan.target =
        Target{target.text("metric"), target.number("value"), target.choice<Better>("better")};
  }
  if (fields.has("peak_flops")) plan.peak_flops = fields.number("peak_flops");
  plan.peak_flops_origin = fields.text("peak_flops_origin");
  plan.warmup_steps = fields.integer("warmup_steps");
  if (fields.has("automl"))
    plan.automl = automl::settings_from_json(fields.object("automl"), fields.where() + ": automl");
  plan.limits = read_limits(fields.fields("limits"));
  plan.rules = case_rules_from_json(fields.at("rules"), rules, fields.where() + ": rules");
  if (fields.has("rule_changes"))
    plan.rule_changes = catalog::rule_differences_from_json(fields.array("rule_changes"),
                                                            fields.where() + ": rule_changes");
  plan.headline = fields.text_or_empty("headline");
  if (fields.has("sweep")) {
    const JsonReader point = fields.fields("sweep");
    plan.sweep = SweepPoint{point.text("name"), read_values(point)};
  }
  if (fields.has("after")) plan.after = fields.texts("after");
  if (fields.has("only_if"))
    for (const Json& item : fields.array("only_if"))
      plan.only_if.push_back(
          read_plan_condition({item, fields.where() + ": only_if", kPlanAdvice}));
  plan.hooks = read_plan_hooks(fields);
  return plan;
}

Cluster cluster_from_json(const JsonReader& fields) {
  Cluster cluster;
  for (const Json& item : fields.array("hosts")) {
    const JsonReader host(item, fields.where() + ": hosts", kPlanAdvice);
    Host next{host.text("name"), host.integer("slots")};
    next.server_id = host.text_or_empty("server_id");
    if (host.has("device_ips")) next.device_ips = host.texts("device_ips");
    next.super_pod = host.text_or_empty("super_pod");
    if (host.has("super_device_ids")) next.super_device_ids = host.texts("super_device_ids");
    next.ib_addr = host.text_or_empty("ib_addr");
    if (host.has("ssh"))
      next.ssh = fields_from_json<SshAccess>(host.object("ssh"), host.where() + ": ssh");
    if (host.has("env")) next.env = host.text_map("env");
    next.reached = host.text_or_empty("reached");
    cluster.hosts.push_back(std::move(next));
  }
  cluster.use_launcher(launcher_options_from_json(fields.text("launcher"), fields.object("options"),
                                                  fields.where() + ": options"));
  // Missing in plans of version 0.1.
  if (fields.has("traits"))
    cluster.traits =
        fields_from_json<LauncherTraits>(fields.object("traits"), fields.where() + ": traits");
  cluster.master_addr = fields.text("master_addr");
  cluster.master_port = fields.integer("master_port");
  cluster.retries = fields.integer("retries");
  cluster.rank_table = fields.text_or_empty("rank_table");
  if (fields.has("min_nodes")) cluster.min_nodes = fields.integer("min_nodes");
  return cluster;
}

}  // namespace

Json to_json(const Plan& plan) {
  Json json{
      {"schema_version", Plan::kSchemaVersion},
      {"run_id", plan.run_id},
      {"suite", plan.suite},
      {"suite_file", plan.suite_file},
      {"suite_sha256", plan.suite_sha256},
      {"created", plan.created},
      {"assay_version", plan.assay_version},
      {"overrides", plan.overrides},
      {"vendor", plan.vendor},
      {"vendor_data", plan.vendor_data},
      {"cluster", to_json(plan.cluster)},
      {"telemetry",
       {{"interval_ns", plan.telemetry.interval.count()}, {"enabled", plan.telemetry.enabled}}}};
  if (!plan.telemetry.prometheus.empty())
    json["telemetry"]["prometheus"] = plan.telemetry.prometheus;
  if (!plan.submission.empty()) json["submission"] = plan.submission;
  if (plan.baseline)
    json["baseline"] = {{"file", plan.baseline->file},
                        {"sha256", plan.baseline->sha256},
                        {"text", plan.baseline->text}};
  if (plan.challenge) json["challenge"] = fields_to_json(*plan.challenge);
  const std::vector<catalog::Rule> rules = rule_set_of(plan.cases);
  json["rules"] = catalog::to_json(rules);
  json["cases"] = Json::array();
  for (const CasePlan& c : plan.cases) json["cases"].push_back(to_json(c, rules));
  for (const LeftOut& c : plan.left_out)
    json["left_out"].push_back({{"name", c.name}, {"reason", c.reason}});
  for (const Sweep& sweep : plan.sweeps) json["sweeps"].push_back(to_json(sweep));
  if (!plan.hooks.empty()) json["hooks"] = to_json(plan.hooks);
  return json;
}

Plan plan_from_json(const Json& json, const std::string& where) {
  const JsonReader fields(json, where, kPlanAdvice);
  const int version = fields.integer("schema_version");
  if (version < 1 || version > Plan::kSchemaVersion)
    throw Error(ErrorKind::config,
                "schema_version is " + std::to_string(version) + "; this program reads 1 to " +
                    std::to_string(Plan::kSchemaVersion),
                where, "use the version of Assay that made the run");
  Plan plan;
  plan.run_id = fields.text("run_id");
  plan.suite = fields.text("suite");
  plan.suite_file = fields.text("suite_file");
  plan.suite_sha256 = fields.text("suite_sha256");
  plan.created = fields.text("created");
  plan.assay_version = fields.text("assay_version");
  plan.overrides = fields.texts("overrides");
  plan.vendor = fields.text("vendor");
  plan.vendor_data = fields.object("vendor_data");
  plan.cluster = cluster_from_json(fields.fields("cluster"));
  const JsonReader telemetry = fields.fields("telemetry");
  plan.telemetry.interval = Nanoseconds(telemetry.integer<std::int64_t>("interval_ns"));
  plan.telemetry.enabled = telemetry.boolean("enabled");
  if (telemetry.has("prometheus")) plan.telemetry.prometheus = telemetry.text("prometheus");
  if (fields.has("submission")) plan.submission = fields.text_map("submission");
  if (fields.has("baseline")) {
    const JsonReader baseline = fields.fields("baseline");
    plan.baseline = {baseline.text("file"), baseline.text("sha256"), baseline.text("text")};
  }
  if (fields.has("challenge"))
    plan.challenge = fields_from_json<Challenge>(fields.object("challenge"), where + ": challenge");
  std::vector<catalog::Rule> rules;
  if (version > 1) rules = catalog::rules_from_json(fields.array("rules"), where + ": rules");
  for (const Json& item : fields.array("cases"))
    plan.cases.push_back(read_case(
        {item, where + ": case " + std::to_string(plan.cases.size() + 1), kPlanAdvice}, rules));
  if (fields.has("left_out"))
    for (const Json& item : fields.array("left_out")) {
      const JsonReader left(item, where + ": left_out", kPlanAdvice);
      plan.left_out.push_back({left.text("name"), left.text("reason")});
    }
  if (fields.has("sweeps"))
    for (const Json& item : fields.array("sweeps"))
      plan.sweeps.push_back(read_sweep({item, where + ": sweeps", kPlanAdvice}));
  plan.hooks = read_plan_hooks(fields);
  return plan;
}

bool CasePlan::meets_by(std::string_view flavor) const noexcept {
  return std::ranges::find(rendezvous, flavor) != rendezvous.end();
}

std::string Cluster::address_of(const std::string& host) const {
  const Host* known = find_host(host);
  if (known != nullptr && !known->reached.empty()) return known->reached;
  const std::string& name =
      known == nullptr || known->ssh.address.empty() ? host : known->ssh.address;
  return name.substr(name.find('@') + 1);
}

const Host* Cluster::find_host(std::string_view host) const noexcept {
  const auto found = std::ranges::find(hosts, host, &Host::name);
  return found == hosts.end() ? nullptr : &*found;
}

}  // namespace assay::plan
