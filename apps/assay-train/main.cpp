#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "core/error.h"
#include "core/text.h"
#include "core/version.h"
#if defined(ASSAY_TRAIN_AUTOML)
#include "train/automl/worker.h"
#endif
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
#if defined(ASSAY_TRAIN_AUTOML)
  names.emplace_back(kAutomlWorker);
#endif
  return names;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// By hand, as assay-train must also be built where there is PyTorch and little else.
constexpr const char* kUsage =
    "usage: assay-train WORKLOAD [--config FILE] [--data-only]\n"
    "       assay-train --list | --version | --help\n"
    "\n"
    "Assay's training workloads: one rank, its PerfLog on standard output. The rank's place comes "
    "from\n"
    "RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT; without them it is alone.\n"
    "\n"
    "  --config FILE  JSON or YAML file with the workload's settings\n"
    "  --data-only    measure the input pipeline, without a model\n"
    "  --list         print the names of the workloads\n"
    "  --version      print the version and what libtorch offers\n"
    "  --help         print this\n"
    "\n"
    "examples:\n"
    "  assay-train resnet20\n"
    "  assay-train bert-tiny --config settings.yaml\n"
    "  torchrun --nproc-per-node 8 --no-python assay-train resnet50 --config settings.yaml\n"
#if defined(ASSAY_TRAIN_AUTOML)
    "\n"
    "automl-worker trains what the coordinator of an AutoML experiment gives it, until it is told "
    "to\n"
    "stop. The run that starts it sets ASSAY_AUTOML_ADDRESS (host:port) and ASSAY_AUTOML_TOKEN. "
    "Its\n"
    "settings: device, threads, connect_timeout_s, trial_timeout_s, cached_weights.\n"
#endif
    ;

struct Request {
  enum class What : std::uint8_t { run, list, version, help };
  What what = What::run;
  std::string workload;
  std::string config;
  bool data_only = false;
};

[[noreturn]] void wrong_usage(const std::string& message) {
  throw assay::Error(assay::ErrorKind::usage, message, {},
                     "assay-train --help says how it is used");
}

Request read_arguments(const std::vector<std::string>& arguments) {
  const std::vector<std::string> options{"--config", "--data-only", "--list", "--version",
                                         "--help"};
  Request request;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--config") {
      if (++i == arguments.size()) wrong_usage("--config needs a file");
      request.config = arguments[i];
    } else if (argument.starts_with("--config=")) {
      request.config = argument.substr(std::string("--config=").size());
    } else if (argument == "--data-only") {
      request.data_only = true;
    } else if (argument == "--list") {
      request.what = Request::What::list;
    } else if (argument == "--version") {
      request.what = Request::What::version;
    } else if (argument == "--help" || argument == "-h") {
      request.what = Request::What::help;
    } else if (argument.starts_with("-")) {
      wrong_usage("unknown option '" + assay::printable(argument) + "'" +
                  assay::did_you_mean(argument, options));
    } else if (!request.workload.empty()) {
      wrong_usage("one workload at a time: '" + assay::printable(request.workload) + "' or '" +
                  assay::printable(argument) + "'?");
    } else {
      request.workload = argument;
    }
    if (argument.starts_with("--config") && request.config.empty())
      wrong_usage("--config: the name of the file is empty");
  }
  return request;
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
  if (!holds(training_workloads(), workload)) {
    if (data_only)
      throw assay::Error(assay::ErrorKind::usage,
                         workload + " has no input pipeline of its own to measure", "--data-only");
#if defined(ASSAY_TRAIN_AUTOML)
    if (workload == kAutomlWorker) return run_automl_worker(options, place, log);
#endif
    return run_micro(workload, options, place, log);
  }
  const Settings settings = read_settings(workload, options);
  if (data_only || settings.data_only) return measure_data(settings, place, log);
  return train(settings, place, log);
}

}  // namespace

int main(int argc, char** argv) {
  occupy_closed_streams();
  limit_spinning(argv);
  try {
    const Request request = read_arguments({argv + 1, argv + argc});
    switch (request.what) {
      case Request::What::help:
        std::fputs(kUsage, stdout);
        return 0;
      case Request::What::version:
        std::printf("%s\n%s\n", assay::version_string().c_str(), torch_description().c_str());
        return 0;
      case Request::What::list:
        for (const std::string& name : workloads()) std::printf("%s\n", name.c_str());
        return 0;
      case Request::What::run:
        break;
    }
    if (request.workload.empty())
      throw assay::Error(assay::ErrorKind::usage, "which workload?", {},
                         "assay-train --list prints them, --help says more");
    return run(request.workload, request.config, request.data_only);
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
