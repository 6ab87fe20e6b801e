#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/suites/cluster_hosts.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "lang/language.h"
#include "report/prometheus.h"

namespace assay::commands {

namespace {

struct PrometheusOptions {
  std::string suite;
  std::vector<std::string> hosts;
  std::string output = ".";
};

int run(const PrometheusOptions& options) {
  const SuiteHosts suite = suite_hosts(options.suite, {}, options.hosts);
  if (suite.telemetry.prometheus.empty())
    throw Error(ErrorKind::config, "the suite's agents offer no metrics", suite.file,
                "telemetry: {prometheus: {listen: \"127.0.0.1:9400\"}}");
  const report::ScrapeTargets targets =
      report::scrape_targets(suite.cluster, suite.hosts, suite.telemetry.prometheus);
  const std::filesystem::path folder = options.output;
  make_directories(folder);
  write_file_atomic(folder / "prometheus.yml", report::render_prometheus_config(
                                                   suite.name, targets, suite.telemetry.interval));
  write_file_atomic(folder / "grafana-dashboard.json",
                    report::grafana_dashboard(suite.name).dump(2) + "\n");
  tell(fmt::format("{}: {}\n{}\n", lang::name((folder / "prometheus.yml").string()),
                   counted(targets.addresses.size(), "target"),
                   lang::name((folder / "grafana-dashboard.json").string())));
  if (!targets.problem.empty())
    tell_error(
        fmt::format("warning: {}; listen on 0.0.0.0 to be read from elsewhere\n", targets.problem));
  return 0;
}

}  // namespace

void add_prometheus(CLI::App& app, Action& action) {
  const auto options = std::make_shared<PrometheusOptions>();
  CLI::App* command = add_known(app, "prometheus");
  command->add_option("suite", options->suite, "Suite with telemetry.prometheus")
      ->required()
      ->type_name("SUITE");
  command
      ->add_option("--hosts", options->hosts,
                   "Hosts instead of the suite's, for a scheduler that chooses them: n1,n2")
      ->delimiter(',')
      ->type_name("HOST,…")
      ->allow_extra_args(false);
  command->add_option("-o,--output", options->output, "Folder of both files")
      ->type_name("DIR")
      ->capture_default_str();
  command->footer(
      "Examples:\n"
      "  assay prometheus suite.yaml --output monitoring\n"
      "  prometheus --config.file=monitoring/prometheus.yml\n"
      "  assay prometheus slurm.yaml --hosts node1,node2 -o monitoring");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace assay::commands
