#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/interrupt.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/services/store_target.h"
#include "core/json.h"
#include "core/text.h"
#include "launch/modelarts/modelarts_jobs.h"
#include "page/table.h"

namespace assay::commands {

namespace {

struct CloudOptions {
  std::string suite;
  std::vector<std::string> set;
  std::string format = "text";
};

/// The services of the suite's cloud.
struct Services {
  explicit Services(const CloudOptions& given)
      : options(cloud_of_suite(given.suite, given.set)),
        client(launch::read_transfer_settings(options.credentials).client),
        credentials(launch::credential_source(options.credentials)),
        jobs(launch::make_modelarts_jobs(options, client, *credentials)) {}

  plan::ModelArtsOptions options;
  http::Client client;
  std::unique_ptr<cloud::CredentialSource> credentials;
  std::unique_ptr<launch::ModelArtsJobs> jobs;
};

void print(const page::Table& table) {
  const Terminal screen = terminal();
  for (const std::string& line : page::text_lines(table, {.width = screen.width}))
    fmt::print("{}\n", line);
}

int flavors(const CloudOptions& options) {
  const Interrupt interrupt;
  Services services(options);
  Json json = Json::array();
  page::Table table{{{.title = "FLAVOR"},
                     {.title = "DEVICES", .align = page::Align::right},
                     {.title = "PRODUCT"},
                     {.title = "NODES", .align = page::Align::right},
                     {.title = "BILLED AS"}}};
  for (const cloud::Flavor& flavor : services.jobs->flavors(interrupt.token())) {
    json.push_back({{"flavor", flavor.id},
                    {"devices", flavor.devices},
                    {"product", flavor.product},
                    {"max_nodes", flavor.max_nodes},
                    {"billing", flavor.billing},
                    {"billing_units", flavor.billing_units}});
    const std::string units =
        flavor.billing.empty() ? "" : fmt::format("{} × {}", flavor.billing_units, flavor.billing);
    table.rows.push_back(
        {{(flavor.id == services.options.flavor ? "* " : "  ") + flavor.id,
          flavor.devices == 0 ? "–" : std::to_string(flavor.devices), flavor.product,
          flavor.max_nodes == 0 ? "" : std::to_string(flavor.max_nodes), units}});
  }
  if (options.format == "json")
    fmt::print("{}", dump_pretty(json));
  else
    print(table);
  return 0;
}

int engines(const CloudOptions& options) {
  const Interrupt interrupt;
  Services services(options);
  const std::vector<std::string> all = services.jobs->engines(interrupt.token());
  if (options.format == "json") {
    fmt::print("{}", dump_pretty(all));
    return 0;
  }
  page::Table table{{{.title = "ENGINE"}}};
  for (const std::string& engine : all)
    table.rows.push_back({{(engine == services.options.engine ? "* " : "  ") + engine}});
  print(table);
  return 0;
}

}  // namespace

void add_cloud(CLI::App& app, Action& action) {
  CLI::App* command = add_known(app, "cloud");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, int (*run)(const CloudOptions&)) {
    const auto options = std::make_shared<CloudOptions>();
    CLI::App* sub = command->add_subcommand(name, what);
    sub->add_option("suite", options->suite, "A suite with the launcher modelarts")
        ->required()
        ->type_name("SUITE");
    sub->add_option("--set", options->set, "Override a setting, key=value")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    sub->add_option("--format", options->format, "text or json")
        ->check(CLI::IsMember({"text", "json"}));
    sub->callback([options, run, &action] { action = [options, run] { return run(*options); }; });
  };
  add("flavors", "Kinds of instances, with their devices and how they are billed", &flavors);
  add("engines", "Engines: the images that the service brings", &engines);
  command->footer(
      "Examples:\n"
      "  assay cloud flavors cloud.yaml      the suite's own is marked with *\n"
      "  assay cloud engines cloud.yaml --format json\n"
      "\n"
      "The service gives no prices: a flavor costs its units of the billing code.");
}

}  // namespace assay::commands
