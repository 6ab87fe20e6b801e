#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/error.h"
#include "core/json.h"
#include "core/standard_output.h"
#include "core/text.h"
#include "core/version.h"
#include "train_commands.h"
#if defined(ASSAY_TRAIN_AUTOML)
#include "train/automl/worker.h"
#endif
#include "train/base/torch.h"
#include "train/loop/task_kinds.h"
#include "train/loop/usable_devices.h"
#include "train/micro/micro.h"
#include "workload/option_text.h"
#include "workload/runtime.h"

namespace {

using namespace assay::train;
namespace workload = assay::workload;

// libgomp's threads spin for milliseconds at the end of a parallel region before they sleep. On a
// machine without enough free cores (input threads, other ranks, other users) they take time from
// those still working: steps of BERT-tiny took up to twice as long. libgomp reads the limit when it
// is loaded, before main, so the program restarts itself once; the process stays the same. With a
// CUDA device these threads have little to do, and loading libtorch again would cost half a second.
void limit_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  if (torch::cuda::is_available()) return;
  if (::setenv("GOMP_SPINCOUNT", "1000", 0) == 0) ::execv("/proc/self/exe", argv);
  // The restart failed: slower, but correct.
}

// If the launcher closed a standard stream, its number would go to a connection between the ranks,
// which would then get the log. Writing to this descriptor fails, as it would to a closed one.
void occupy_closed_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDONLY));
}

std::vector<workload::Workload> workloads() {
  std::vector<workload::Workload> all = training_workloads();
  for (workload::Workload& benchmark : micro_workloads()) all.push_back(std::move(benchmark));
#if defined(ASSAY_TRAIN_AUTOML)
  all.push_back(automl_worker());
#endif
  return all;
}

// Written by hand, because assay-train must also build where there is PyTorch and little else.
constexpr const char* kUsage =
    "usage: assay-train WORKLOAD [--config FILE] [--data-only | --find-batch]\n"
    "       assay-train WORKLOAD --options\n"
    "       assay-train COMMAND ... | COMMAND --help\n"
    "       assay-train --list | --devices | --version | --help\n"
    "\n"
    "Assay's training workloads: one rank, its PerfLog on standard output. The rank's place comes "
    "from\n"
    "RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT; without them it is alone.\n"
    "\n"
    "  --config FILE  JSON or YAML file with the workload's settings\n"
    "  --data-only    measure the input pipeline, without a model\n"
    "  --find-batch   say in FINISHED what `batch_size: auto` is on this device; train nothing\n"
    "  --options      print the workload's settings: defaults, what they may be, what they mean\n"
    "  --list         print the names of the workloads\n"
    "  --devices      print the CUDA devices that it can use, or why it cannot, as JSON\n"
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
    "stop. The run that starts it sets ASSAY_AUTOML_ADDRESS (host:port) and ASSAY_AUTOML_TOKEN.\n"
#endif
    ;

std::string usage() {
  std::string text = kUsage;
  text += "\ncommands:\n";
  for (const Command& command : commands())
    text +=
        "  " + command.name + std::string(10 - command.name.size(), ' ') + command.summary + "\n";
  return text;
}

/// Returns nullptr if the arguments name no command.
const Command* command_of(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return nullptr;
  const auto it = std::ranges::find(commands(), arguments[0], &Command::name);
  return it == commands().end() ? nullptr : &*it;
}

struct Request {
  enum class What : std::uint8_t {
    run,
    options,
    options_yaml,
    options_markdown,
    list,
    devices,
    version,
    help
  };
  What what = What::run;
  std::string workload;
  std::string config;
  std::string instead{};  ///< replaces training: the option data_only or find_batch
};

[[noreturn]] void wrong_usage(const std::string& message) {
  throw assay::Error(assay::ErrorKind::usage, message, {}, "see assay-train --help");
}

const std::vector<std::pair<std::string, Request::What>>& actions() {
  using What = Request::What;
  // --help omits the two for files of this repository, which scripts/update-options.sh calls.
  static const std::vector<std::pair<std::string, What>> all{
      {"--options", What::options},
      {"--options-yaml", What::options_yaml},
      {"--options-markdown", What::options_markdown},
      {"--list", What::list},
      {"--devices", What::devices},
      {"--version", What::version},
      {"--help", What::help},
      {"-h", What::help}};
  return all;
}

Request read_arguments(const std::vector<std::string>& arguments) {
  Request request;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const auto action =
        std::ranges::find(actions(), argument, [](const auto& a) { return a.first; });
    if (argument == "--config") {
      if (++i == arguments.size()) wrong_usage("--config needs a file");
      request.config = arguments[i];
    } else if (argument.starts_with("--config=")) {
      request.config = argument.substr(std::string("--config=").size());
    } else if (argument == "--data-only") {
      request.instead = "data_only";
    } else if (argument == "--find-batch") {
      request.instead = "find_batch";
    } else if (action != actions().end()) {
      request.what = action->second;
    } else if (argument.starts_with("-")) {
      std::vector<std::string> known{"--config", "--data-only", "--find-batch"};
      for (const auto& [name, what] : actions()) known.push_back(name);
      wrong_usage("unknown option '" + assay::printable(argument) + "'" +
                  assay::did_you_mean(argument, known));
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

int run(const workload::Workload& wanted, const Request& request) {
  if (request.instead.empty()) return workload::run(wanted, request.config);
  const std::vector<workload::Workload> training = training_workloads();
  if (std::ranges::find(training, wanted.name, &workload::Workload::name) == training.end())
    throw assay::Error(assay::ErrorKind::usage, wanted.name + " trains nothing",
                       request.instead == "data_only" ? "--data-only" : "--find-batch");
  return workload::run(wanted, request.config, {{request.instead, "true"}});
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int act(const Request& request) {
  switch (request.what) {
    case Request::What::help:
      return print(usage());
    case Request::What::version:
      return print(assay::version_string() + "\n" + torch_description() + "\n");
    case Request::What::list:
      for (const workload::Workload& known : workloads()) std::printf("%s\n", known.name.c_str());
      return 0;
    case Request::What::devices:
      return print(assay::dump_pretty(usable_devices()));
    case Request::What::options_yaml:
      return print(workload::to_yaml("assay-train", workloads()));
    case Request::What::options_markdown:
      if (request.workload.empty()) return print(workload::to_markdown(training_workloads()));
      break;
    case Request::What::options:
    case Request::What::run:
      break;
  }
  if (request.workload.empty())
    throw assay::Error(assay::ErrorKind::usage, "which workload?", {},
                       "see assay-train --list and assay-train --help");
  const std::vector<workload::Workload> known = workloads();
  const workload::Workload& wanted = workload::find_workload(known, request.workload);
  if (request.what == Request::What::options) return print(workload::to_text(wanted));
  if (request.what == Request::What::options_markdown)
    return print(workload::to_markdown({wanted}));
  return run(wanted, request);
}

int close_output(int code) {
  const auto error = assay::flush_standard_output();
  if (!error) return code;
  const int full = workload::report(*error);
  return code == 0 ? full : code;
}

}  // namespace

int main(int argc, char** argv) {
  // After the restart by limit_spinning(), top and pgrep would call the process "exe".
  static_cast<void>(::prctl(PR_SET_NAME, "assay-train"));
  occupy_closed_streams();
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (const Command* const command = command_of(arguments); command != nullptr)
      return close_output(command->run({arguments.begin() + 1, arguments.end()}));
    limit_spinning(argv);
    return close_output(act(read_arguments(arguments)));
  } catch (const assay::Error& error) {
    return workload::report(error);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "assay-train: not enough memory\n");
    return assay::exit_code(assay::ErrorKind::environment);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "assay-train: %s\n", first_line(error).c_str());
    return is_out_of_memory(error) ? assay::exit_code(assay::ErrorKind::environment) : 1;
  }
}
