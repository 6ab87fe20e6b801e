#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "core/error.h"
#include "core/text.h"
#include "core/version.h"
#include "train/automl/worker.h"
#include "train/loop/runtime.h"
#include "train/loop/trainer.h"
#include "train/micro/micro.h"
#include "train/torch.h"

namespace {

using namespace assay::train;

// libgomp's threads spin for milliseconds at the end of a parallel region before they sleep. On a
// machine whose cores are not all free (input threads, other ranks, other users) they take the time
// of those that still work: steps of BERT-tiny took up to twice as long. It reads the limit when it
// is loaded, before main, so the program starts itself again, once; the process stays the same.
void limit_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  if (::setenv("GOMP_SPINCOUNT", "1000", 0) == 0) ::execv("/proc/self/exe", argv);
  // It could not be started again: slower, but right.
}

// The number of a standard stream that the launcher has closed would be given to a connection
// between the ranks, which would get the log. Writing to this one fails, as it does to a closed
// one.
void occupy_closed_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDONLY));
}

std::vector<std::string> workloads() {
  std::vector<std::string> names = training_workloads();
  names.insert(names.end(), micro_workloads().begin(), micro_workloads().end());
  names.emplace_back(kAutomlWorker);
  return names;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

int run(const std::string& workload, const std::string& config_path, bool data_only) {
  const std::vector<std::string> known = workloads();
  if (!holds(known, workload))
    throw assay::Error(assay::ErrorKind::usage,
                       "unknown workload '" + assay::printable(workload) + "'" +
                           assay::did_you_mean(workload, known),
                       {}, "known workloads: " + assay::join(known, ", "));
  const Place place = place_from_environment();
  Options options(config_path);
  handle_stop_signals();
  assay::perflog::Writer log(stdout, place.rank);
  const bool worker = workload == kAutomlWorker;
  if (worker || holds(micro_workloads(), workload)) {
    if (data_only)
      throw assay::Error(assay::ErrorKind::usage,
                         workload + " has no input pipeline of its own to measure", "--data-only");
    return worker ? run_automl_worker(options, place, log)
                  : run_micro(workload, options, place, log);
  }
  const Settings settings = read_settings(workload, options);
  if (data_only || settings.data_only) return measure_data(settings, place, log);
  return train(settings, place, log);
}

}  // namespace

int main(int argc, char** argv) {
  occupy_closed_streams();
  limit_spinning(argv);
  CLI::App app(
      "Assay's training workloads: one rank, its PerfLog on standard output. The rank's place "
      "comes "
      "from RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT.",
      "assay-train");
  std::string workload;
  std::string config;
  bool list = false;
  bool data_only = false;
  app.add_option("WORKLOAD", workload, "see --list");
  app.add_option("--config", config, "JSON or YAML file with the workload's settings")
      ->check([](const std::string& path) {
        return path.empty() ? std::string("the name of the file is empty") : std::string();
      });
  app.add_flag("--data-only", data_only, "measure the input pipeline, without a model");
  app.add_flag("--list", list, "print the names of the workloads");
  app.footer(
      "automl-worker trains what the coordinator of an AutoML experiment gives it, until it is "
      "told to stop. The run that starts it sets ASSAY_AUTOML_ADDRESS (host:port) and "
      "ASSAY_AUTOML_TOKEN. Its --config: device, threads, connect_timeout_s, trial_timeout_s, "
      "cached_weights.");
  app.set_version_flag("--version", assay::version_string() + "\n" + torch_description());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : assay::exit_code(assay::ErrorKind::usage);
  }
  if (list) {
    for (const std::string& name : workloads()) std::printf("%s\n", name.c_str());
    return 0;
  }
  try {
    if (workload.empty())
      throw assay::Error(assay::ErrorKind::usage, "which workload?", {},
                         "assay-train --list prints them");
    return run(workload, config, data_only);
  } catch (const assay::Error& error) {
    std::fprintf(stderr, "assay-train: %s\n", error.what());
    return exit_code(error);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "assay-train: not enough memory\n");
    return assay::exit_code(assay::ErrorKind::environment);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "assay-train: %s\n", first_line(error).c_str());
    return is_out_of_memory(error) ? assay::exit_code(assay::ErrorKind::environment) : 1;
  }
}
