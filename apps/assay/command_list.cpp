#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "catalog/catalog.h"
#include "catalog/metrics.h"
#include "commands.h"
#include "core/text.h"
#include "launch/launcher.h"
#include "terminal.h"

namespace assay::app {

namespace {

using Row = std::vector<std::string>;

void print_table(const Row& header, const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const std::string& title : header) widths.push_back(display_width(title));
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  const std::size_t total = terminal().interactive ? terminal().width : 10'000;
  const auto print_row = [&](const Row& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - display_width(row[i]) + 2, ' ');
    }
    fmt::print("{}\n", ellipsize(trim(line), total));
  };
  print_row(header);
  for (const Row& row : rows) print_row(row);
}

std::string bound(const catalog::Rule& rule) {
  std::string text;
  if (rule.min) text += fmt::format("≥ {}", *rule.min);
  if (rule.max) text += fmt::format("{}≤ {}", text.empty() ? "" : ", ", *rule.max);
  return text;
}

void list(const std::string& what) {
  std::vector<Row> rows;
  if (what == "launchers") {
    for (const launch::LauncherInfo& info : launch::launcher_catalogue())
      rows.push_back({info.name, info.description});
    return print_table({"LAUNCHER", "DESCRIPTION"}, rows);
  }
  if (what == "metrics") {
    for (const catalog::KnownMetric& known : catalog::known_metrics())
      rows.push_back({std::string(known.name), std::string(known.unit),
                      std::string(to_string(known.better)), std::string(known.description)});
    return print_table({"METRIC", "UNIT", "BETTER", "DESCRIPTION"}, rows);
  }
  const catalog::Catalog catalog = catalog::load_catalog(catalog::find_conf_dir());
  if (what == "workloads") {
    for (const catalog::Workload& workload : catalog.workloads)
      rows.push_back({workload.name, join(workload.frameworks, ", "), workload.description});
    return print_table({"WORKLOAD", "FRAMEWORKS", "DESCRIPTION"}, rows);
  }
  if (what == "vendors") {
    for (const catalog::Vendor& vendor : catalog.vendors)
      rows.push_back({vendor.name, vendor.visible_devices, vendor.description});
    return print_table({"VENDOR", "VISIBLE DEVICES", "DESCRIPTION"}, rows);
  }
  for (const catalog::Rule& rule : catalog.rules)
    rows.push_back({rule.id, std::string(to_text(rule.scope)), rule.fact, bound(rule),
                    std::string(to_text(rule.severity)), rule.origin});
  print_table({"RULE", "SCOPE", "FACT", "BOUND", "SEVERITY", "FROM"}, rows);
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  const auto what = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("list", "List what Assay knows");
  command->add_option("what", *what, "workloads, vendors, launchers, metrics or rules")
      ->required()
      ->check(CLI::IsMember({"workloads", "vendors", "launchers", "metrics", "rules"}));
  command->footer("Examples:\n  assay list workloads\n  assay list metrics");
  command->callback([what, &action] {
    action = [what] {
      list(*what);
      return 0;
    };
  });
}

}  // namespace assay::app
