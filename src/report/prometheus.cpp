#include "report/prometheus.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/address.h"
#include "report/report_assets.h"

namespace assay::report {

namespace {

std::string with_port(const std::string& address, int port) {
  const bool brackets = address.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", brackets ? "[" : "", address, brackets ? "]" : "", port);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// In the asset, {S} stands for the selector of cases and hosts, [I] for the rate interval.
Json target_json(const Json& form, const Json& query, std::size_t number) {
  std::string expression = query["expr"].get<std::string>();
  replace_all(expression, "{S}", "{case=~\"$case\",host=~\"$host\"}");
  replace_all(expression, "[I]", "[$__rate_interval]");
  Json target = form;
  target["refId"] = std::string(1, static_cast<char>('A' + number));
  target["expr"] = expression;
  target["legendFormat"] = query["legend"];
  return target;
}

// A row or panel with its place on the dashboard.
Json placed(Json panel, const Json& title, int id, int x, int y) {
  panel["id"] = id;
  panel["title"] = title;
  panel["gridPos"]["x"] = x;
  panel["gridPos"]["y"] = y;
  return panel;
}

}  // namespace

ScrapeTargets scrape_targets(const plan::Cluster& cluster, const std::vector<std::string>& hosts,
                             const std::string& listen) {
  ScrapeTargets out;
  const auto endpoint = parse_endpoint(listen);
  if (!endpoint) return out;  // the suite was already checked
  const bool everywhere = endpoint->address == "0.0.0.0" || endpoint->address == "::";
  if (cluster.traits.one_machine) {
    const std::string loopback = endpoint->address == "::" ? "::1" : "127.0.0.1";
    out.addresses.push_back(with_port(everywhere ? loopback : endpoint->address, endpoint->port));
    return out;
  }
  for (const std::string& name : hosts) {
    out.addresses.push_back(with_port(cluster.address_of(name), endpoint->port));
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
  // JSON strings are valid in YAML.
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
  const Json forms = parse_json(assets::kDashboard.text, std::string(assets::kDashboard.name));
  Json panels = Json::array();
  int id = 0;
  int y = 0;
  for (const Json& section : forms["sections"]) {
    panels.push_back(placed(forms["row"], section["title"], ++id, 0, y));
    ++y;
    const Json& list = section["panels"];
    for (std::size_t i = 0; i < list.size(); ++i) {
      Json panel = placed(forms["panel"], list[i]["title"], ++id, i % 2 == 0 ? 0 : 12, y);
      panel["fieldConfig"]["defaults"]["unit"] = list[i]["unit"];
      for (const Json& query : list[i]["queries"])
        panel["targets"].push_back(target_json(forms["target"], query, panel["targets"].size()));
      panels.push_back(std::move(panel));
      if (i % 2 == 1 || i + 1 == list.size()) y += 8;
    }
  }
  Json dashboard = forms["dashboard"];
  dashboard["title"] = "Assay: " + suite;
  dashboard["panels"] = std::move(panels);
  return dashboard;
}

}  // namespace assay::report
