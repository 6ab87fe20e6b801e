#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "core/version.h"
#include "micro/workloads.h"
#include "workload/option_text.h"
#include "workload/runtime.h"

int main(int argc, char** argv) {
  CLI::App app("Assay's micro workloads: one rank, its PerfLog on standard output.", "assay-micro");
  std::string workload;
  std::string config;
  bool list_options = false;
  bool options_yaml = false;
  bool options_markdown = false;
  app.add_option("WORKLOAD", workload, "null (emits PerfLog at a given rate) or matmul");
  app.add_option("--config", config, "JSON object or YAML mapping with the workload's settings");
  app.add_flag("--options", list_options, "print the workload's settings and their defaults");
  app.add_flag("--options-yaml", options_yaml, "print conf/options/assay-micro.yaml");
  app.add_flag("--options-markdown", options_markdown, "print a table of them for docs/");
  app.set_version_flag("--version", assay::version_string());
  try {
    app.parse(argc, argv);
    if (workload.empty() && !options_yaml) throw CLI::RequiredError("WORKLOAD");
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return assay::workload::report(
        {assay::ErrorKind::usage, error.what(), {}, "see 'assay-micro --help'"});
  }
  try {
    const std::vector<assay::workload::Workload> known = assay::micro::workloads();
    if (options_yaml) {
      std::fputs(assay::workload::to_yaml("assay-micro", known).c_str(), stdout);
      return 0;
    }
    const assay::workload::Workload& wanted = assay::workload::find_workload(known, workload);
    if (list_options) {
      std::fputs(assay::workload::to_text(wanted).c_str(), stdout);
      return 0;
    }
    if (options_markdown) {
      std::fputs(assay::workload::to_markdown({wanted}).c_str(), stdout);
      return 0;
    }
    return assay::workload::run(wanted, config);
  } catch (const assay::Error& error) {
    return assay::workload::report(error);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "assay-micro: not enough memory\n");
    return assay::exit_code(assay::ErrorKind::environment);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "assay-micro: %s\n", error.what());
    return 1;
  }
}
