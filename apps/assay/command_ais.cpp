#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "ais_stub.h"
#include "aisbench/pack.h"
#include "commands.h"
#include "core/error.h"
#include "core/files.h"
#include "core/units.h"
#include "paths.h"

namespace assay::app {

namespace {

namespace fs = std::filesystem;

aisbench::TestInfo local_info(const aisbench::Package& package) {
  if (package.config_json.empty()) return {};
  // Local mode does not need the file: one that is not filled in must not end it.
  try {
    return aisbench::read_test_info(
        parse_json(read_file(package.config_json), package.config_json.string()),
        package.config_json.string());
  } catch (const Error& e) {
    fmt::print(stderr, "assay: warning: {}\n", e.what());
    return {};
  }
}

int test(const AisOptions& options) {
  const aisbench::Package package = aisbench::open_package(options.directory);
  return AisStub(package, local_info(package), options).run();
}

int pack(aisbench::PackOptions options) {
  options.ais_utils = bin_dir() / "ais/ais_utils.py";
  const aisbench::PackReport report = aisbench::pack_package(options);
  for (const std::string& note : report.notes) fmt::print("{}\n", note);
  fmt::print("{}: {} files, {} bytes, sha256 {}\n", options.output.string(), report.files,
             report.bytes, report.sha256);
  return 0;
}

void add_run_options(CLI::App& command, AisOptions& options) {
  command
      .add_option("--vendor", options.vendor,
                  "Whose devices are sampled (default: the vendor whose tool is here, else cpu)")
      ->type_name("NAME");
  command.add_option("--out", options.out, "Folder for the run (default: the package's result/)")
      ->type_name("DIR");
  command.add_option("--time", options.time, "benchmark.sh may take this long (default: 7d)")
      ->type_name("DURATION");
  command.add_option("--stall", options.stall, "and be silent for this long (default: off)")
      ->type_name("DURATION");
  command.add_option("--interval", options.interval, "Between samples of power (default: 1s)")
      ->type_name("DURATION");
}

}  // namespace

void add_ais(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("ais", "Workload packages of ais-bench: test them, pack them");
  command->require_subcommand(1);
  const auto options = std::make_shared<AisOptions>();
  CLI::App* local =
      command->add_subcommand("test", "Run an unpacked package on this machine (local mode)");
  local->add_option("dir", options->directory, "The package (default: this folder)")
      ->type_name("DIR");
  add_run_options(*local, *options);
  local->footer(
      "Example:\n"
      "  tar xf package.tar.gz && cd package && assay ais test\n"
      "\n"
      "The run is in result/, its log in log/stub.log. Exit codes are those of 'assay run'.");
  local->callback([options, &action] { action = [options] { return test(*options); }; });

  const auto packing = std::make_shared<aisbench::PackOptions>();
  CLI::App* packer = command->add_subcommand("pack", "Build a package from a workload's folder");
  packer->add_option("dir", packing->source, "The workload: its package, or its code")
      ->required()
      ->type_name("DIR");
  packer->add_option("-o,--output", packing->output, "The package, NAME.tar.gz")
      ->required()
      ->type_name("FILE");
  packer->add_flag("--modelarts", packing->modelarts, "Set RUNTYPE in benchmark.sh to modelarts");
  packer->add_flag("--allow-secrets", packing->allow_secrets,
                   "Pack also when keys or passwords are in the configuration");
  packer->footer("Example:\n  assay ais pack conf/ais/resnet20 --output resnet20.tar.gz");
  packer->callback([packing, &action] { action = [packing] { return pack(*packing); }; });
}

}  // namespace assay::app
