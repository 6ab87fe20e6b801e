#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "catalog/catalog.h"
#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/output_file.h"
#include "commands/base/terminal.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "importer/aah.h"
#include "importer/apulis.h"
#include "importer/flagperf.h"
#include "importer/modelarts_package.h"
#include "importer/nodes.h"

namespace assay::commands {

namespace {

struct ImportOptions {
  std::string directory;
  std::string out;
  bool survey = false;
  std::string vendor;
  std::vector<std::string> cases;
};

void print_diagnostics(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics) tell_error(to_string(diagnostic) + "\n");
}

int import_flagperf(const ImportOptions& options) {
  if (options.survey) {
    fmt::print("{}", importer::render(importer::import_survey(options.directory)));
    return 0;
  }
  importer::ImportOptions import_options;
  import_options.known_vendors = catalog::load_catalog(catalog::find_conf_dirs()).vendor_names();
  import_options.vendor = options.vendor;
  import_options.cases = options.cases;
  const importer::FlagPerfImport result =
      importer::import_flagperf(options.directory, import_options);
  print_diagnostics(result.diagnostics);
  if (options.out.empty()) {
    fmt::print("{}", result.suite_yaml);
  } else {
    write_output_file(options.out, result.suite_yaml);
    tell(fmt::format("{}: {} imported, {} left out\n", options.out,
                     counted(result.imported.size(), "case"), result.skipped.size()));
  }
  return 0;
}

int import_nodes(const ImportOptions& options) {
  const importer::NodesImport result = importer::import_nodes(options.directory);
  print_diagnostics(result.diagnostics);
  if (options.out.empty()) {
    fmt::print("{}", result.cluster_yaml);
  } else {
    write_output_file(options.out, result.cluster_yaml);
    tell(fmt::format("{}: {} of {}\n", options.out, counted(result.nodes.size(), "node"),
                     result.format));
  }
  return 0;
}

void put_suite(const std::string& yaml, const ImportOptions& options) {
  if (options.out.empty())
    fmt::print("{}", yaml);
  else
    write_output_file(options.out, yaml);
}

int import_aah(const ImportOptions& options) {
  const importer::AahImport result = importer::import_aah(options.directory);
  print_diagnostics(result.diagnostics);
  put_suite(result.suite_yaml, options);
  return 0;
}

int import_apulis(const ImportOptions& options) {
  const importer::ApulisImport result = importer::import_apulis(options.directory);
  print_diagnostics(result.diagnostics);
  put_suite(result.suite_yaml, options);
  return 0;
}

int import_modelarts(const ImportOptions& options) {
  const importer::ModelArtsImport result = importer::import_modelarts(options.directory);
  print_diagnostics(result.diagnostics);
  put_suite(result.suite_yaml, options);
  return 0;
}

}  // namespace

void add_import(CLI::App& app, Action& action) {
  CLI::App* command = add_known(app, "import");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  assay import flagperf ~/FlagPerf -o flagperf.yaml\n"
      "  assay import aah config.yml -o aah.yaml\n"
      "  assay import apulis job.json -o job.yaml\n"
      "\n"
      "What has no counterpart here is said, line by line. docs/import.md has the tables.");
  const auto options = std::make_shared<ImportOptions>();
  CLI::App* flagperf = command->add_subcommand(
      "flagperf", "A FlagPerf checkout; its Python files are read, never executed");
  flagperf->add_option("directory", options->directory, "The checkout, or its training/ folder")
      ->required()
      ->type_name("DIR");
  flagperf->add_option("-o,--out", options->out, "Write the suite here instead of to stdout")
      ->type_name("FILE");
  flagperf->add_option("--vendor", options->vendor, "Take this vendor's cases, not VENDOR's")
      ->type_name("NAME");
  flagperf
      ->add_option("--cases", options->cases,
                   "Of CASES only those that match, or keys of your own (KEY=DATA)")
      ->type_name("GLOB,...")
      ->delimiter(',');
  flagperf->add_flag("--survey", options->survey,
                     "Read every case configuration in the checkout and say what was understood");
  flagperf->footer(
      "Examples:\n"
      "  assay import flagperf ~/FlagPerf -o flagperf.yaml && assay run flagperf.yaml --dry-run\n"
      "  assay import flagperf ~/FlagPerf --vendor kunlunxin --cases "
      "'llama3_8B:megatron_core060:R300p:1:8:1=/data/llama3'\n"
      "  assay import flagperf ~/FlagPerf --survey");
  CLI::App* nodes = command->add_subcommand(
      "nodes", "An ais-bench node file (v1, v2) or FlagPerf's cluster_conf.py, as `cluster:`");
  nodes->add_option("file", options->directory, "The node file")->required()->type_name("FILE");
  nodes->add_option("-o,--out", options->out, "Write the YAML here instead of to stdout")
      ->type_name("FILE");
  nodes->footer(
      "Examples:\n"
      "  assay import nodes nodes.json -o cluster.yaml\n"
      "  assay import nodes ~/FlagPerf/training/run_benchmarks/config/cluster_conf.py\n"
      "\n"
      "Passwords are never copied.");
  CLI::App* aah = command->add_subcommand(
      "aah", "The config.yml of an AAH (AIPerf) experiment, as a suite with one AutoML case");
  aah->add_option("file", options->directory, "config.yml")->required()->type_name("FILE");
  aah->add_option("-o,--out", options->out, "Write the suite here instead of to stdout")
      ->type_name("FILE");
  aah->footer(
      "Examples:\n  assay import aah config.yml -o aah.yaml && assay run aah.yaml --dry-run");
  aah->callback([options, &action] { action = [options] { return import_aah(*options); }; });
  CLI::App* apulis = command->add_subcommand(
      "apulis", "A job of the Apulis platform (the JSON of POST /apis/PostJob), as a suite");
  apulis->add_option("file", options->directory, "The job")->required()->type_name("FILE");
  apulis->add_option("-o,--out", options->out, "Write the suite here instead of to stdout")
      ->type_name("FILE");
  apulis->footer(
      "Examples:\n"
      "  assay import apulis job.json -o job.yaml && assay run job.yaml --dry-run\n"
      "\n"
      "Keys, passwords and variables that look like secrets are never copied.");
  apulis->callback([options, &action] { action = [options] { return import_apulis(*options); }; });
  CLI::App* modelarts = command->add_subcommand(
      "modelarts", "An ais-bench package for ModelArts; its Python files are read, never executed");
  modelarts->add_option("directory", options->directory, "The package, or its code/config/ folder")
      ->required()
      ->type_name("DIR");
  modelarts->add_option("-o,--out", options->out, "Write the suite here instead of to stdout")
      ->type_name("FILE");
  modelarts->footer(
      "Example:\n"
      "  assay import modelarts ~/package -o cloud.yaml && assay run cloud.yaml --dry-run\n"
      "\n"
      "Keys are never copied.");
  modelarts->callback(
      [options, &action] { action = [options] { return import_modelarts(*options); }; });
  nodes->callback([options, &action] { action = [options] { return import_nodes(*options); }; });
  flagperf->callback(
      [options, &action] { action = [options] { return import_flagperf(*options); }; });
}

}  // namespace assay::commands
