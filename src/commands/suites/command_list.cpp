#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "catalog/catalog.h"
#include "catalog/metrics.h"
#include "commands/base/commands.h"
#include "commands/base/paths.h"
#include "commands/base/speak.h"
#include "commands/base/terminal.h"
#include "core/error.h"
#include "core/json.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "lang/language.h"
#include "page/table.h"
#include "page/text_width.h"
#include "plan/launcher_options.h"
#include "plan/suite.h"

namespace assay::commands {

namespace {

// A list of objects, one per row: {"vendor": "cpu", "visible_devices": "", …}.
Json json_of(const page::Table& table) {
  Json out = Json::array();
  for (const page::Row& row : table.rows) {
    Json& one = out.emplace_back(Json::object());
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      std::string key = to_lower(table.columns[i].title);
      std::ranges::replace(key, ' ', '_');
      if (table.columns[i].align == page::Align::right)
        one[key] = parse_number<int>(row.cells[i].text).value_or(0);
      else
        one[key] = row.cells[i].text;
    }
  }
  return out;
}

void print_table(const page::Table& table, bool json) {
  if (json) return say(json_of(table).dump(2) + "\n");
  const std::size_t width = terminal().interactive ? terminal().width : 10'000;
  for (const std::string& line : page::text_lines(table))
    fmt::print("{}\n", page::cut_to(line, width));
}

std::string bound(const catalog::Rule& rule) {
  std::string text;
  if (rule.min) text += fmt::format("≥ {}", *rule.min);
  if (rule.max) text += fmt::format("{}≤ {}", text.empty() ? "" : ", ", *rule.max);
  return text;
}

// "conf/vendors/cpu.yaml:3" without the line.
std::string file_of(const std::string& origin) {
  return origin.substr(0, origin.rfind(':'));
}

// An unreadable file does not hide the others.
int list_suites(const catalog::Catalog& catalog, bool json) {
  page::Table table;
  table.columns = {{"SUITE"}, {"CASES", page::Align::right}, {"FROM"}, {"DESCRIPTION"}};
  std::vector<Error> broken;
  for (const auto& [name, file] : catalog::conf_files(catalog.conf_dirs, "suites")) try {
      const plan::Suite suite = plan::load_suite(file);
      table.rows.push_back(
          {{name, std::to_string(suite.cases.size()), catalog::conf_name(catalog.conf_dirs, file),
            page::free_text(suite.description)}});
    } catch (const Error& error) {
      broken.push_back(error);
    }
  print_table(table, json);
  for (const Error& error : broken)
    fmt::print(stderr, "assay: {}: {}\n", lang::tr("error"), error_text(error));
  return broken.empty() ? 0 : exit_code(broken.front().kind());
}

int list(const std::string& what, bool json) {
  page::Table table;
  if (what == "launchers") {
    table.columns = {{"LAUNCHER"}, {"DESCRIPTION"}};
    for (const plan::LauncherInfo& info : plan::launcher_catalog())
      table.rows.push_back({{info.name, info.description}});
    print_table(table, json);
    return 0;
  }
  if (what == "metrics") {
    table.columns = {{"METRIC"}, {"UNIT"}, {"BETTER"}, {"DESCRIPTION"}};
    for (const catalog::KnownMetric& known : catalog::known_metrics())
      table.rows.push_back({{known.name, known.unit, to_text(known.better), known.description}});
    print_table(table, json);
    return 0;
  }
  const catalog::Catalog catalog = catalog::load_catalog(catalog::find_conf_dirs());
  if (what == "workloads") {
    table.columns = {{"WORKLOAD"}, {"FRAMEWORKS"}, {"FROM"}, {"DESCRIPTION"}};
    for (const catalog::Workload& workload : catalog.workloads)
      table.rows.push_back({{workload.name, join(workload.frameworks, ", "),
                             file_of(workload.origin), page::free_text(workload.description)}});
    print_table(table, json);
    return 0;
  }
  if (what == "vendors") {
    table.columns = {{"VENDOR"}, {"VISIBLE DEVICES"}, {"FROM"}, {"DESCRIPTION"}};
    for (const catalog::Vendor& vendor : catalog.vendors)
      table.rows.push_back({{vendor.name, vendor.visible_devices, file_of(vendor.origin),
                             page::free_text(vendor.description)}});
    print_table(table, json);
    return 0;
  }
  if (what == "suites") return list_suites(catalog, json);
  if (json) {
    say(catalog::to_json(catalog.rules).dump(2) + "\n");
    return 0;
  }
  table.columns = {{"RULE"}, {"SCOPE"}, {"FACT"}, {"BOUND"}, {"SEVERITY"}, {"FROM"}};
  for (const catalog::Rule& rule : catalog.rules)
    table.rows.push_back({{rule.id, to_text(rule.scope), rule.fact, bound(rule),
                           to_text(rule.severity), rule.origin}});
  print_table(table, json);
  return 0;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  const auto what = std::make_shared<std::string>();
  const auto format = std::make_shared<std::string>("text");
  CLI::App* command = app.add_subcommand("list", "List what Assay knows");
  command->add_option("what", *what, "suites, workloads, vendors, launchers, metrics or rules")
      ->required()
      ->check(CLI::IsMember({"suites", "workloads", "vendors", "launchers", "metrics", "rules"}));
  command->add_option("--format", *format, "text or json")->check(CLI::IsMember({"text", "json"}));
  command->footer("Examples:\n  assay list workloads\n  assay list metrics --format json");
  command->callback([what, format, &action] {
    action = [what, format] { return list(*what, *format == "json"); };
  });
}

}  // namespace assay::commands
