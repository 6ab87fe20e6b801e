#include <csignal>
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/error.h"
#include "core/json_fields.h"
#include "core/version.h"
#include "sampler.h"

namespace {

// The agent that started this may be killed at any moment, and nothing may stay behind.
void end_with_parent() {
  const pid_t parent = ::getppid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Prints one line per NVIDIA device and sample (docs/telemetry.md).");
  app.set_version_flag("--version", assay::version_string());
  int interval_ms = 1000;
  std::string devices;
  bool once = false;
  bool list = false;
  bool state = false;
  app.add_option("--interval-ms", interval_ms, "time between samples")
      ->check(CLI::Range(10, 3'600'000))
      ->capture_default_str();
  app.add_option("--devices", devices, "indices or UUIDs, separated by commas (default: all)");
  app.add_flag("--once", once, "one sample, then end");
  CLI::Option* listing = app.add_flag("--list", list, "print the devices as JSON, then end");
  app.add_flag("--state", state, "print how the devices are set up, and how well they are, as JSON")
      ->excludes(listing);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    fmt::print(stderr, "assay-nvml: {}\n  see 'assay-nvml --help'\n", e.what());
    return assay::exit_code(assay::ErrorKind::usage);
  }
  end_with_parent();
  try {
    const assay::nvml::Nvml nvml;
    const auto chosen = assay::nvml::choose_devices(nvml, devices);
    if (list)
      fmt::print("{}", assay::nvml::list_devices(nvml, chosen));
    else if (state)
      fmt::print("{}", assay::dump_pretty(assay::fields_to_json(nvml.states(chosen))));
    else
      assay::nvml::print_samples(nvml, chosen, interval_ms, once);
    return 0;
  } catch (const assay::Error& e) {
    fmt::print(stderr, "assay-nvml: {}\n", e.what());
    return assay::exit_code(e.kind());
  } catch (const std::exception& e) {
    fmt::print(stderr, "assay-nvml: {}\n", e.what());
    return 1;
  }
}
