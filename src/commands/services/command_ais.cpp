#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "aisbench/pack_package.h"
#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/runs/push.h"
#include "commands/runs/stop.h"
#include "commands/services/ais_stub.h"
#include "core/address.h"
#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "launch/modelarts/stop_job.h"
#include "push/tester_client.h"
#include "store/run_dir.h"

namespace assay::commands {

namespace {

namespace fs = std::filesystem;

aisbench::TestInfo local_info(const aisbench::Package& package) {
  if (package.config_json.empty()) return {};
  // Local mode does not need the file, so an incomplete one must not end it.
  try {
    return aisbench::read_test_info(
        parse_json(read_plain_file(package.config_json), package.config_json.string()),
        package.config_json.string());
  } catch (const Error& e) {
    tell_error(fmt::format("assay: warning: {}\n", e.what()));
    return {};
  }
}

int test(const AisOptions& options) {
  const aisbench::Package package = aisbench::open_package(options.directory);
  return AisStub(package, local_info(package), options).run();
}

struct NetworkOptions {
  AisOptions run;
  std::string url;  // empty: config.json's
  std::string token_file;
  std::string ca;
};

std::string tester_url(const aisbench::TestInfo& info) {
  if (!info.tester_url.empty()) return info.tester_url;
  const bool here = is_this_machine(info.tester_ip);
  return fmt::format("{}://{}:{}", here ? "http" : "https", info.tester_ip, info.tester_port);
}

/// Runs a package and reports it to the tester. Checks the tester's requirements before the run.
int run_for_tester(const NetworkOptions& options) {
  const aisbench::Package package = aisbench::open_package(options.run.directory);
  const std::string where = package.config_json.empty() ? (package.base / "config").string()
                                                        : package.config_json.string();
  aisbench::TestInfo info;
  if (!package.config_json.empty())
    info = aisbench::read_test_info(parse_json(read_plain_file(package.config_json), where), where);
  if (options.url.empty() && !info.has_tester)
    throw Error(ErrorKind::usage, "the tester's address is not known", where,
                "give tester_server_ip and tester_server_port in config.json, or --to URL; 'assay "
                "ais test' runs without a tester");
  PushRequest request;
  request.url = options.url.empty() ? tester_url(info) : options.url;
  request.token_file = options.token_file;
  request.ca = options.ca;
  request.name = package.base.filename().string();
  request.ais = {{"Mode", info.mode},
                 {"Model", info.model},
                 {"Divsion", info.division},
                 {"Scenario", info.scenario},
                 {"test_object_type", info.object_type}};
  if (!info.has_test_id) {
    push::PushOptions wanted;
    wanted.name = request.name;
    wanted.ais = request.ais;
    info.test_id =
        push::reserve_test({request.url, push::find_token(options.token_file), options.ca}, wanted);
  } else {
    push::check_test({request.url, push::find_token(options.token_file), options.ca}, info.test_id);
  }
  request.test_id = info.test_id;
  AisStub stub(package, info, options.run);
  const int code = stub.run();
  request.run = stub.run_dir().string();
  const int pushed = push(request);
  stub.log(pushed == 0 ? "INFO" : "ERROR",
           fmt::format("the tester {} {} test {}", request.url,
                       pushed == 0 ? "accepted" : "did not accept as VALID", info.test_id));
  return code != 0 ? code : pushed;
}

/// Stops what the package's newest run started. A job on ModelArts that no run of this folder
/// created is found, as in ais-bench, by the configuration's job_name.
int stop(const AisOptions& options) {
  const aisbench::Package package = aisbench::open_package(options.directory);
  const fs::path run =
      (options.out.empty() ? package.base / "result" : fs::path(options.out)) / "latest";
  std::error_code ec;
  const bool has_run = fs::exists(run, ec);
  if (!package.on_modelarts()) {
    if (has_run) return stop_run(run.string(), /*at_once=*/false);
    fmt::print("find no match version return\n");
    return 0;
  }
  std::string said;
  if (has_run) said = launch::stop_cloud_jobs(store::RunDir::open(run));
  if (said.empty())
    said = launch::stop_newest_job(std::get<plan::ModelArtsOptions>(
        plan_package(package, local_info(package), options).cluster.options));
  fmt::print("{}", said);
  return 0;
}

int pack(aisbench::PackOptions options) {
  options.ais_utils = program_folder() / "ais/ais_utils.py";
  const aisbench::PackReport report = aisbench::pack_package(options);
  for (const std::string& note : report.notes) fmt::print("{}\n", note);
  tell(fmt::format("{}: {}, {} bytes, sha256 {}\n", options.output.string(),
                   counted(report.files, "file"), report.bytes, report.sha256));
  return 0;
}

void add_set_option(CLI::App& command, AisOptions& options) {
  command
      .add_option("--set", options.set,
                  "Override a setting of the package's suite, as "
                  "cluster.modelarts.credentials=FILE")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void add_run_options(CLI::App& command, AisOptions& options) {
  add_set_option(command, options);
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
  CLI::App* command = add_known(app, "ais");
  command->require_subcommand(0, 1);
  const auto network = std::make_shared<NetworkOptions>();
  command->add_option("dir", network->run.directory, "The package (default: this folder)")
      ->type_name("DIR");
  add_run_options(*command, network->run);
  command->add_option("--to", network->url, "The tester (default: the one of config.json)")
      ->type_name("URL");
  command
      ->add_option("--token-file", network->token_file,
                   "File with the tester's token; else ASSAY_TESTER_TOKEN")
      ->type_name("FILE");
  command->add_option("--ca", network->ca, "Certificate to trust, PEM; else the system's")
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  assay ais                      run the package here and report it to its tester\n"
      "  assay ais test                 run it without a tester\n"
      "  assay ais stop                 stop it, also its job on ModelArts");
  command->callback([command, network, &action] {
    if (command->get_subcommands().empty()) action = [network] { return run_for_tester(*network); };
  });
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

  const auto stopped = std::make_shared<AisOptions>();
  CLI::App* stopper = command->add_subcommand("stop", "Stop the package's newest run");
  stopper->add_option("dir", stopped->directory, "The package (default: this folder)")
      ->type_name("DIR");
  stopper->add_option("--out", stopped->out, "Folder of its runs (default: the package's result/)")
      ->type_name("DIR");
  add_set_option(*stopper, *stopped);
  stopper->footer(
      "Examples:\n"
      "  assay ais stop ~/package       from any folder, also for a job that another machine "
      "started");
  stopper->callback([stopped, &action] { action = [stopped] { return stop(*stopped); }; });

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
  packer->footer("Example:\n  assay ais pack examples/ais-resnet20 --output resnet20.tar.gz");
  packer->callback([packing, &action] { action = [packing] { return pack(*packing); }; });
}

}  // namespace assay::commands
