#include "commands/services/ais_stub.h"

#include <cstdlib>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "aisbench/reported_results.h"
#include "aisbench/result_writer.h"
#include "catalog/catalog.h"
#include "commands/base/paths.h"
#include "commands/base/terminal.h"
#include "commands/runs/execute.h"
#include "commands/services/ais_logs.h"
#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/json_access.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/subprocess.h"
#include "core/time.h"
#include "importer/modelarts_package.h"
#include "plan/make_plan.h"

namespace assay::commands {

namespace fs = std::filesystem;

namespace {

constexpr const char* kCase = "workload";

std::string yaml_text(const std::string& text) {
  return dump_line(Json(text));
}

// The folder, followed by the variable's existing value.
std::string ahead_of(const fs::path& folder, const char* variable) {
  const char* before = std::getenv(variable);
  const bool more = before != nullptr && *before != '\0';
  return folder.string() + (more ? ":" + std::string(before) : "");
}

// The vendor with a tool on this machine.
std::string local_vendor(const catalog::Catalog& catalog) {
  for (const catalog::Vendor& vendor : catalog.vendors)
    if (vendor.query && !vendor.query->command.empty() &&
        find_program(vendor.query->command.front()))
      return vendor.name;
  return "cpu";
}

std::string local_suite(const aisbench::Package& package, const aisbench::TestInfo& info,
                        const AisOptions& options, const std::string& vendor) {
  const fs::path utils = program_folder() / "ais";
  return fmt::format(
      "name: {}\nvendor: {}\ntelemetry: {{interval: {}}}\ncases:\n"
      "  - name: {}\n    model: {}\n    framework: ais-bench\n    launch: head\n"
      "    workdir: {}\n    command: [bash, {}]\n    limits: {{time: {}, stall: {}}}\n    env:\n"
      "      {}: '{{outdir}}/{}'\n      PATH: {}\n      PYTHONPATH: {}\n      LD_LIBRARY_PATH: "
      "{}\n",
      yaml_text(package.base.filename().string()), yaml_text(vendor), yaml_text(options.interval),
      kCase, yaml_text(package.config_json.empty() ? package.base.filename().string() : info.model),
      yaml_text(package.code.string()), yaml_text(package.benchmark.string()),
      yaml_text(options.time), options.stall == "off" ? "off" : yaml_text(options.stall),
      aisbench::kResultsVariable, aisbench::kResultsFile, yaml_text(ahead_of(utils, "PATH")),
      yaml_text(ahead_of(utils, "PYTHONPATH")), yaml_text(ahead_of(utils, "LD_LIBRARY_PATH")));
}

void require_utils() {
  const fs::path library = program_folder() / "ais/libais_utils.so";
  std::error_code ec;
  if (!fs::exists(library, ec))
    throw Error(ErrorKind::environment, "the library for workloads is not there", library.string(),
                "build the target 'programs', or install Assay as a whole");
}

}  // namespace

plan::Plan plan_package(const aisbench::Package& package, const aisbench::TestInfo& info,
                        const AisOptions& options) {
  const catalog::Catalog catalog = catalog::load_catalog(catalog::find_conf_dirs());
  plan::PlanOptions plan_options;
  plan_options.bindir = program_folder();
  plan_options.run_id = new_run_id();
  plan_options.overrides = options.set;
  std::string yaml;
  if (package.on_modelarts()) {
    importer::ModelArtsImport imported = importer::import_modelarts(package.base);
    for (const Diagnostic& diagnostic : imported.diagnostics)
      fmt::print(stderr, "{}\n", to_string(diagnostic));
    yaml = std::move(imported.suite_yaml);
  } else {
    require_utils();
    yaml = local_suite(package, info, options,
                       options.vendor.empty() ? local_vendor(catalog) : options.vendor);
  }
  plan::Plan plan =
      plan::make_plan(plan::parse_suite(yaml, "the suite of assay ais"), catalog, plan_options);
  for (plan::CasePlan& plan_case : plan.cases) {
    // The package itself selects its devices and starts its ranks.
    if (!package.on_modelarts()) plan_case.rendezvous.clear();
  }
  if (!package.on_modelarts()) plan.vendor_data.erase("visible_devices");
  return plan;
}

AisStub::AisStub(aisbench::Package package, aisbench::TestInfo info, AisOptions options)
    : package_(std::move(package)), info_(std::move(info)), options_(std::move(options)) {}

void AisStub::log(std::string_view level, std::string_view text) const {
  const std::string line = aisbench::stub_line(wall_now_ns(), level, text);
  const fs::path path = package_.base / "log/stub.log";
  std::ofstream file(path, std::ios::app);
  file << line << std::flush;
  if (!file) throw system_error(ErrorKind::environment, "cannot write", path.string(), errno);
  say(line);
}

int AisStub::run() {
  for (const char* folder : {"log", "result", "tmp"}) make_directories(package_.base / folder);
  const fs::path results = options_.out.empty() ? package_.base / "result" : fs::path(options_.out);
  // benchmark.sh first removes its work/, so two at once would destroy each other's.
  std::error_code ec;
  if (fs::exists(results / "latest", ec) && store::RunLock::held(results / "latest"))
    throw Error(ErrorKind::usage, "the package is being run already",
                fs::canonical(results / "latest").string(),
                "wait for it, or end it with 'assay ais stop'");
  const store::RunDir run = store::RunDir::create(results, plan_package(package_, info_, options_));
  run_dir_ = run.path();
  write_file_atomic(package_.base / "log/stub.log", "", /*sync=*/false);
  log("INFO", aisbench::config_info_line(info_));
  log("INFO", "ais bench stubs begin run");
  log("INFO", "workpath:" + package_.base.string() + " go testcase.");
  log("INFO", "Benchmanager::Init() enter");
  log("INFO", "Transmit_server start listen " + run.path().string());
  for (const fs::path& library : package_.closed_libraries)
    log("WARN", library.string() +
                    " reports results to ais-bench's own program, not to Assay: remove it, so that "
                    "the one that Assay provides is found");
  int code = 0;
  try {
    const AisLogs logs(run, package_.base / "log");
    code = execute(run, declared_system());
  } catch (const Error& e) {
    log("ERROR", e.message());
    log("INFO", "Transmit_server resource is released!");
    log("INFO", "BenchManager stop done");
    throw;
  }
  log_outcome(run);
  log("INFO", "Transmit_server resource is released!");
  log("INFO", "BenchManager stop done");
  return code;
}

Json AisStub::declared_system() const {
  if (package_.system_json.empty()) return nullptr;
  constexpr std::uintmax_t kMaxBytes = 64 << 10;
  Json declared = fs::file_size(package_.system_json) > kMaxBytes
                      ? Json()
                      : parse_json_or_null(read_plain_file(package_.system_json));
  if (!declared.is_object()) {
    log("WARN", package_.system_json.string() + " is left out: no JSON object of at most 64 KiB");
    return nullptr;
  }
  return declared;
}

void AisStub::log_outcome(const store::RunDir& run) const {
  const fs::path round = run.round_dir(run.plan().cases.front().name, 1);
  if (const std::string lines = read_regular_file_or_empty(round / layout::kReportText);
      !lines.empty()) {
    say(lines);
    // The output that the package's own script would have printed.
    if (package_.on_modelarts())
      write_file_atomic(package_.base / "log/benchmark.log", lines, /*sync=*/false);
  }
  const std::string record = read_regular_file_or_empty(round / layout::kTrainResult);
  if (!record.empty()) return log("INFO", "train_result_info: " + record);
  const Json result = parse_json_or_null(read_regular_file_or_empty(run.path() / layout::kResult));
  std::string why = "there is no train_result_info";
  try {
    for (const auto& finding : result.at("cases").at(0).at("rounds").at(0).at("findings"))
      if (finding.at("severity") == "incomplete" || finding.at("severity") == "invalid")
        why += ": " + finding.at("reason").get<std::string>();
  } catch (const nlohmann::json::exception&) {
    why += "; see " + run.path().string();  // the report could not be written
  }
  log("ERROR", why);
}

}  // namespace assay::commands
