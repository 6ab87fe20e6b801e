#include "report/prometheus.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/address.h"

namespace assay::report {

namespace {

std::string with_port(const std::string& address, int port) {
  const bool brackets = address.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", brackets ? "[" : "", address, brackets ? "]" : "", port);
}

struct Query {
  std::string_view expression;
  std::string_view legend;
};

struct Panel {
  std::string_view title;
  std::string_view unit;  // Grafana's name of it
  std::vector<Query> queries;
};

struct Section {
  std::string_view title;
  std::vector<Panel> panels;
};

// S stands for the selector of cases and hosts, I for the interval of rates.
const std::vector<Section>& sections() {
  static const std::vector<Section> kSections{
      {"Training",
       {{"Throughput by case",
         "short",
         {{"sum by (case) (rate(assay_rank_samples_total{S}[I]))", "{{case}}, samples/s"}}},
        {"Throughput by rank",
         "short",
         {{"rate(assay_rank_samples_total{S}[I])", "{{case}} rank {{rank}}, samples/s"}}},
        {"Step time by rank",
         "s",
         {{"1 / (rate(assay_rank_steps_total{S}[I]) > 0)", "{{case}} rank {{rank}}"}}},
        {"Loss", "short", {{"assay_rank_loss{S}", "{{case}} rank {{rank}}"}}},
        {"Accuracy", "percentunit", {{"assay_rank_accuracy{S}", "{{case}} rank {{rank}}"}}},
        {"Ranks by state", "short", {{"sum by (state) (assay_ranks{S})", "{{state}}"}}},
        {"Silence of running ranks",
         "s",
         {{"assay_rank_idle_seconds{S}", "{{case}} rank {{rank}}"}}},
        {"Rounds", "short", {{"assay_round_running{S}", "{{case}} round {{round}} {{host}}"}}}}},
      {"AutoML",
       {{"Trials",
         "short",
         {{"sum by (case) (assay_automl_trials_total{S})", "{{case}}"},
          {"sum by (case) (assay_rank_epochs_total{S})", "{{case}}, epochs"}}},
        {"Best accuracy",
         "percentunit",
         {{"max by (case) (assay_rank_best_accuracy{S})", "{{case}}"}}}}},
      {"Nodes",
       {{"CPU utilisation", "percentunit", {{"assay_cpu_utilization_ratio{S}", "{{host}}"}}},
        {"Memory",
         "bytes",
         {{"assay_memory_used_bytes{S}", "{{host}} used"},
          {"assay_memory_size_bytes{S}", "{{host}} size"}}},
        {"Network",
         "Bps",
         {{"assay_network_receive_bytes_per_second{S}", "{{host}} in"},
          {"assay_network_transmit_bytes_per_second{S}", "{{host}} out"}}},
        {"Disks",
         "Bps",
         {{"assay_disk_read_bytes_per_second{S}", "{{host}} read"},
          {"assay_disk_write_bytes_per_second{S}", "{{host}} written"}}}}},
      {"Power and energy",
       {{"Power of nodes", "watt", {{"assay_node_power_watts{S}", "{{host}}"}}},
        {"Power by source",
         "watt",
         {{"assay_power_watts{S}", "{{host}} {{source}}"},
          {"assay_device_power_watts{S}", "{{host}} device {{device}}"}}},
        {"Energy since the round began",
         "joule",
         {{"assay_energy_joules_total{S} - min_over_time(assay_energy_joules_total{S}[1d])",
           "{{host}} {{source}}"},
          {"assay_device_energy_joules_total{S} - "
           "min_over_time(assay_device_energy_joules_total{S}[1d])",
           "{{host}} device {{device}}"}}}}},
      {"Devices",
       {{"Utilisation",
         "percentunit",
         {{"assay_device_utilization_ratio{S}", "{{host}} {{device}}"}}},
        {"Memory",
         "bytes",
         {{"assay_device_memory_used_bytes{S}", "{{host}} {{device}} used"},
          {"assay_device_memory_size_bytes{S}", "{{host}} {{device}} size"}}},
        {"Temperature",
         "celsius",
         {{"assay_device_temperature_celsius{S}", "{{host}} {{device}}"}}},
        {"Clock", "hertz", {{"assay_device_clock_hertz{S}", "{{host}} {{device}}"}}},
        {"Slowed by heat, power or hardware",
         "short",
         {{"assay_device_throttled{S}", "{{host}} {{device}}"},
          {"assay_device_ecc_errors_total{S}", "{{host}} {{device}} ECC errors"}}}}},
      {"Assay itself",
       {{"CPU time of the agents",
         "percentunit",
         {{"rate(assay_agent_cpu_seconds_total{host=~\"$host\"}[I])", "{{host}}"}}},
        {"Memory of the agents",
         "bytes",
         {{"assay_agent_resident_memory_bytes{host=~\"$host\"}", "{{host}}"}}}}}};
  return kSections;
}

std::string filled_in(std::string_view expression) {
  std::string out;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const std::string_view rest = expression.substr(i);
    if (rest.starts_with("{S}")) {
      out += "{case=~\"$case\",host=~\"$host\"}";
      i += 2;
    } else if (rest.starts_with("[I]")) {
      out += "[$__rate_interval]";
      i += 2;
    } else {
      out += expression[i];
    }
  }
  return out;
}

Json data_source() {
  return {{"type", "prometheus"}, {"uid", "${datasource}"}};
}

Json panel_json(const Panel& panel, int id, int x, int y) {
  Json targets = Json::array();
  for (const Query& query : panel.queries)
    targets.push_back({{"refId", std::string(1, static_cast<char>('A' + targets.size()))},
                       {"datasource", data_source()},
                       {"expr", filled_in(query.expression)},
                       {"legendFormat", query.legend}});
  Json json{{"id", id},
            {"type", "timeseries"},
            {"title", panel.title},
            {"datasource", data_source()},
            {"gridPos", {{"x", x}, {"y", y}, {"w", 12}, {"h", 8}}},
            {"fieldConfig",
             {{"defaults", {{"unit", panel.unit}, {"custom", {{"fillOpacity", 8}}}}},
              {"overrides", Json::array()}}},
            {"options",
             {{"legend", {{"displayMode", "list"}, {"placement", "bottom"}}},
              {"tooltip", {{"mode", "multi"}}}}}};
  json["targets"] = std::move(targets);
  return json;
}

Json variable(const std::string& name, const std::string& query) {
  return {{"name", name},
          {"type", "query"},
          {"datasource", data_source()},
          {"query", query},
          {"definition", query},
          {"refresh", 2},
          {"includeAll", true},
          {"allValue", ".*"},
          {"multi", true},
          {"current", {{"text", "All"}, {"value", "$__all"}}}};
}

}  // namespace

ScrapeTargets scrape_targets(const plan::Cluster& cluster, const std::vector<std::string>& hosts,
                             const std::string& listen) {
  ScrapeTargets out;
  const auto endpoint = parse_endpoint(listen);
  if (!endpoint) return out;  // the suite was checked
  const bool everywhere = endpoint->address == "0.0.0.0" || endpoint->address == "::";
  if (cluster.traits.one_machine) {
    const std::string loopback = endpoint->address == "::" ? "::1" : "127.0.0.1";
    out.addresses.push_back(with_port(everywhere ? loopback : endpoint->address, endpoint->port));
    return out;
  }
  for (const std::string& name : hosts) {
    const plan::Host* host = cluster.find_host(name);
    const std::string address =
        host == nullptr || host->ssh.address.empty() ? name : host->ssh.address;
    out.addresses.push_back(with_port(address, endpoint->port));
  }
  if (is_loopback(endpoint->address))
    out.problem = "the agents listen on the loopback of their hosts (" + listen +
                  "), which Prometheus reaches from there alone";
  else if (!everywhere)
    out.problem = endpoint->address + " is an address of one host; the others cannot listen on it";
  return out;
}

std::string render_prometheus_config(const std::string& suite, const ScrapeTargets& targets,
                                     Nanoseconds interval) {
  const auto whole = std::chrono::ceil<std::chrono::seconds>(interval).count();
  const auto every = std::max<std::int64_t>(whole, 1);
  // JSON's strings are YAML's.
  const auto quoted = [](const std::string& text) { return Json(text).dump(); };
  std::string out = fmt::format(
      "# The agents of the suite {}; they answer while a run of it is under way.\n", quoted(suite));
  if (!targets.problem.empty()) out += "# Note: " + targets.problem + ".\n";
  out += fmt::format(
      "global:\n"
      "  scrape_interval: {0}s\n"
      "  scrape_timeout: {0}s\n"
      "scrape_configs:\n"
      "  - job_name: assay\n"
      "    static_configs:\n"
      "      - labels: {{suite: {1}}}\n"
      "        targets:\n",
      every, quoted(suite));
  for (const std::string& target : targets.addresses) out += "          - " + quoted(target) + "\n";
  return out;
}

Json grafana_dashboard(const std::string& suite) {
  Json panels = Json::array();
  int id = 0;
  int y = 0;
  for (const Section& section : sections()) {
    panels.push_back({{"id", ++id},
                      {"type", "row"},
                      {"title", section.title},
                      {"collapsed", false},
                      {"gridPos", {{"x", 0}, {"y", y}, {"w", 24}, {"h", 1}}},
                      {"panels", Json::array()}});
    ++y;
    for (std::size_t i = 0; i < section.panels.size(); ++i) {
      panels.push_back(panel_json(section.panels[i], ++id, i % 2 == 0 ? 0 : 12, y));
      if (i % 2 == 1 || i + 1 == section.panels.size()) y += 8;
    }
  }
  const Json source{{"name", "datasource"}, {"type", "datasource"}, {"query", "prometheus"}};
  Json json{
      {"title", "Assay: " + suite},
      {"tags", Json::array({"assay"})},
      {"schemaVersion", 36},
      {"editable", true},
      {"refresh", "5s"},
      {"time", {{"from", "now-30m"}, {"to", "now"}}},
      {"templating",
       {{"list", Json::array({source, variable("case", "label_values(assay_round_running, case)"),
                              variable("host", "label_values(assay_build_info, host)")})}}}};
  json["panels"] = std::move(panels);
  return json;
}

}  // namespace assay::report
