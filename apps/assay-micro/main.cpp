#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/error.h"
#include "core/text.h"
#include "core/version.h"
#include "workloads.h"

namespace {

int run(const std::string& workload, const std::string& config_path) {
  const assay::micro::Place place = assay::micro::place_from_environment();
  assay::micro::Config config(config_path);
  assay::micro::handle_stop_signals();
  if (workload == "null") return assay::micro::run_null(config, place);
  if (workload == "matmul") return assay::micro::run_matmul(config, place);
  const std::vector<std::string> known{"null", "matmul"};
  throw assay::Error(assay::ErrorKind::usage,
                     "unknown workload '" + assay::printable(workload) + "'" +
                         assay::did_you_mean(workload, known),
                     {}, "known workloads: " + assay::join(known, ", "));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Assay's micro workloads: one rank, its PerfLog on standard output.", "assay-micro");
  std::string workload;
  std::string config;
  app.add_option("WORKLOAD", workload, "null (emits PerfLog at a given rate) or matmul")
      ->required();
  app.add_option("--config", config, "JSON object with the workload's settings");
  app.set_version_flag("--version", assay::version_string());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : assay::exit_code(assay::ErrorKind::usage);
  }
  try {
    return run(workload, config);
  } catch (const assay::Error& error) {
    std::fprintf(stderr, "assay-micro: %s\n", error.what());
    return assay::exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "assay-micro: not enough memory\n");
    return assay::exit_code(assay::ErrorKind::environment);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "assay-micro: %s\n", error.what());
    return 1;
  }
}
