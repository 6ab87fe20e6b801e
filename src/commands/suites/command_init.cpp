#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "catalog/catalog.h"
#include "commands/base/commands.h"
#include "commands/base/output_file.h"
#include "commands/base/questions.h"
#include "commands/base/terminal.h"
#include "commands/runs/planning.h"
#include "commands/suites/find_devices.h"
#include "core/error.h"
#include "core/files.h"
#include "core/parse_number.h"
#include "core/pattern.h"
#include "core/processors.h"
#include "core/text.h"
#include "importer/suite_draft.h"
#include "lang/language.h"

namespace assay::commands {

namespace {

using importer::DraftLauncher;
using importer::NumberInLine;
using importer::SuiteDraft;

struct InitOptions {
  std::string file = "my.yaml";
  std::string name, launcher, hosts, user, partition, vendor, workload, command;
  std::string nodes, procs, repeats;
  std::string sample, pattern, metric, unit;
  bool yes = false;
  bool replace = false;
};

int number(const std::string& text) {
  return parse_number<int>(text).value_or(0);
}

void ask_where(Questions& ask, const InitOptions& given, SuiteDraft& draft) {
  draft.launcher =
      parse_enum<DraftLauncher>(ask.ask("Where does it run: local, ssh or slurm", given.launcher,
                                        "local", one_of(enum_texts<DraftLauncher>())))
          .value();
  if (draft.launcher == DraftLauncher::ssh) {
    const std::string hosts =
        ask.ask("Hosts, with commas", given.hosts, "", [](const std::string& answer) {
          return answer.empty() ? std::string("name at least one host") : std::string();
        });
    for (const std::string_view host : split(hosts, ','))
      if (!trim(host).empty()) draft.hosts.emplace_back(trim(host));
    draft.user = ask.ask("User there; empty: as ssh has it", given.user, "");
  }
  if (draft.launcher == DraftLauncher::slurm)
    draft.partition = ask.ask("Partition; empty: the default one", given.partition, "");
  if (draft.launcher != DraftLauncher::local)
    draft.nodes = number(ask.ask("Nodes", given.nodes,
                                 std::to_string(std::max<std::size_t>(draft.hosts.size(), 1)),
                                 number_from(1, 100'000)));
}

// Whether 'vendor: auto' would find devices on this machine: a suite for devices cannot run without
// them.
bool has_devices(const catalog::Catalog& catalog) {
  return std::ranges::any_of(
      search_devices(catalog, "", /*built_in=*/false),
      [](const plan::DeviceSearch& search) { return search.problem.empty(); });
}

// Whether Assay's own training workloads run on the vendor's devices, which is the case if CUDA
// programs see these. 'auto' finds out at run time.
bool runs_built_in(const catalog::Catalog& catalog, const std::string& vendor) {
  const catalog::Vendor* found = catalog.find_vendor(vendor);
  return are_processors(vendor) || found == nullptr ||
         found->visible_devices == "CUDA_VISIBLE_DEVICES";
}

void ask_what(Questions& ask, const InitOptions& given, const catalog::Catalog& catalog,
              SuiteDraft& draft) {
  std::vector<std::string> vendors = catalog.vendor_names();
  const bool local = draft.launcher == DraftLauncher::local;
  std::string usual = "cpu";
  if (local) {
    vendors.emplace_back("auto");
    if (given.vendor.empty() && has_devices(catalog)) usual = "auto";
  }
  draft.vendor =
      ask.ask("Whose devices: cpu, auto or a vendor", given.vendor, usual, one_of(vendors));
  if (!runs_built_in(catalog, draft.vendor)) {
    if (!given.workload.empty())
      throw Error(
          ErrorKind::usage,
          fmt::format("the built-in workloads do not run on the devices of '{}'", draft.vendor),
          given.workload, "give --command, a training of your own");
    draft.command = ask.ask("Your training's command", given.command, "", [](const auto& answer) {
      return answer.empty() ? std::string("the built-in workloads do not run on these devices")
                            : std::string();
    });
  } else if (given.workload.empty()) {
    draft.command =
        ask.ask("Your training's command; empty: a built-in workload", given.command, "");
  }
  if (draft.command.empty()) {
    const char* first = are_processors(draft.vendor) ? "matmul" : "gemm";  // runs on them
    draft.workload = ask.ask("Which built-in workload ('assay list workloads')", given.workload,
                             first, one_of(catalog.workload_names()));
    draft.framework = catalog.find_workload(draft.workload)->frameworks.front();
  }
  const bool by_device = local && draft.vendor == "auto";
  const std::string procs =
      ask.ask("Processes on each node; devices: one a device", given.procs,
              by_device ? "devices" : "1", [&](const std::string& answer) {
                return answer == "devices" && local ? std::string() : number_from(1, 4096)(answer);
              });
  draft.procs = procs == "devices" ? 0 : number(procs);
  draft.repeats = number(ask.ask("Rounds", given.repeats, "3", number_from(1, 1000)));
}

// The number that the pattern finds in the sample line. Throws Error of kind usage.
std::string tried(const std::string& pattern, const std::string& sample) {
  try {
    const Pattern compiled(pattern);
    if (compiled.groups() != 1)
      throw Error(ErrorKind::usage, "the pattern needs exactly one group in ( ), the number",
                  pattern);
    const auto found = compiled.search(sample);
    if (!found || !(*found)[1])
      throw Error(ErrorKind::usage, "the pattern does not match the sample line", pattern,
                  "the line was: '" + printable(sample) + "'");
    return std::string(*(*found)[1]);
  } catch (const PatternError& error) {
    throw Error(ErrorKind::usage, std::string("not a regular expression (RE2): ") + error.what(),
                pattern);
  }
}

void ask_metric(Questions& ask, const InitOptions& given, SuiteDraft& draft) {
  if (draft.command.empty()) return;
  const std::string sample =
      ask.ask("A line that it prints, with the number that counts; empty: it writes PerfLog",
              given.sample, "");
  if (sample.empty() && given.pattern.empty()) return;
  importer::PrintedMetric metric{"throughput", given.pattern, "samples/s"};
  if (given.pattern.empty()) {
    const std::vector<NumberInLine> numbers = importer::numbers_in(sample);
    if (numbers.empty())
      throw Error(
          ErrorKind::usage,
          "no number with a name before it, or a unit such as img/s behind it, is in the line",
          "'" + printable(sample) + "'", "give --pattern, a regular expression with one group");
    for (std::size_t i = 0; i < numbers.size(); ++i)
      tell_error(fmt::format(
          "  {}  {}\n", i + 1,
          lang::name(printable(numbers[i].label) + numbers[i].text + printable(numbers[i].unit))));
    const auto likely = importer::likely_metric(numbers);
    if (!likely && given.yes)
      throw Error(ErrorKind::usage, "the line has only the numbers of steps or epochs",
                  "'" + printable(sample) + "'",
                  "give --pattern, a regular expression with one group");
    const int choice =
        number(ask.ask("Which of them", "", std::to_string(likely.value_or(numbers.size() - 1) + 1),
                       number_from(1, static_cast<int>(numbers.size()))));
    metric = importer::printed_metric(numbers[static_cast<std::size_t>(choice - 1)]);
  }
  if (!sample.empty())
    tell_error(
        fmt::format("  {}  reads {}\n", lang::name(metric.match), tried(metric.match, sample)));
  metric.name = ask.ask("What is it called", given.metric, metric.name, [](const auto& answer) {
    return Pattern("^[A-Za-z_][A-Za-z0-9_]*$").found_in(answer)
               ? std::string()
               : std::string("a metric's name has letters, digits and '_'");
  });
  metric.unit = ask.ask("Its unit", given.unit, metric.unit);
  draft.metric = std::move(metric);
}

// Checks the suite in its final place, so that errors name the right lines. A refused suite is
// removed, and a file that it replaced is restored.
plan::Plan write_checked(const std::string& file, const std::string& suite) {
  std::optional<std::string> before;
  if (std::filesystem::exists(file)) before = read_file(file);
  write_output_file(file, suite);
  try {
    PlanRequest request;
    request.suite = file;
    return make_plan(request);
  } catch (...) {
    if (before) {
      write_output_file(file, *before);
    } else {
      std::error_code ec;
      std::filesystem::remove(output_place(file), ec);
    }
    throw;
  }
}

int init(const InitOptions& given) {
  if (!given.replace && std::filesystem::exists(given.file))
    throw Error(ErrorKind::usage, "it exists already", given.file,
                "'--replace' writes over it, or name another file");
  const catalog::Catalog catalog = catalog::load_catalog(catalog::find_conf_dirs());
  Questions ask(!given.yes);
  SuiteDraft draft;
  draft.name =
      ask.ask("Name of the suite", given.name, std::filesystem::path(given.file).stem().string());
  ask_where(ask, given, draft);
  ask_what(ask, given, catalog, draft);
  ask_metric(ask, given, draft);
  const plan::Plan plan = write_checked(given.file, importer::to_yaml(draft));
  tell(fmt::format("{}: {}, ready to run\n", lang::name(given.file),
                   counted(plan.cases.size(), "case")));
  tell("What comes next:\n");
  say(fmt::format("  assay check {0}\n  assay run {0} --dry-run\n  assay run {0}\n",
                  shell_quote(given.file)));
  return 0;
}

}  // namespace

void add_init(CLI::App& app, Action& action) {
  const auto given = std::make_shared<InitOptions>();
  CLI::App* command = app.add_subcommand("init", "Write a suite by asking, and check it");
  command->add_option("file", given->file, "The suite to write (default: my.yaml)")
      ->type_name("FILE");
  const auto option = [&](const char* name, std::string& value, const char* what,
                          const char* type) {
    command->add_option(name, value, what)->type_name(type);
  };
  option("--name", given->name, "Name of the suite", "NAME");
  option("--launcher", given->launcher, "Where it runs: local, ssh or slurm", "LAUNCHER");
  option("--hosts", given->hosts, "Of ssh: hosts, with commas", "HOSTS");
  option("--user", given->user, "Of ssh: user there", "USER");
  option("--partition", given->partition, "Of slurm: the partition", "NAME");
  option("--nodes", given->nodes, "Nodes", "N");
  option("--vendor", given->vendor, "Whose devices: cpu, auto or a vendor", "VENDOR");
  option("--workload", given->workload, "A built-in workload", "WORKLOAD");
  option("--command", given->command, "Your training's command", "TEXT");
  option("--procs", given->procs, "Processes on each node; devices: one a device", "N");
  option("--repeats", given->repeats, "Rounds", "N");
  option("--sample", given->sample, "A line that the command prints, with the number that counts",
         "LINE");
  option("--pattern", given->pattern, "A regular expression with one group, the number", "PATTERN");
  option("--metric", given->metric, "What the number is called", "METRIC");
  option("--unit", given->unit, "Its unit", "UNIT");
  command->add_flag("--yes", given->yes, "Ask nothing: take the defaults");
  command->add_flag("--replace", given->replace, "Write over a file that exists");
  command->get_option("--workload")->excludes(command->get_option("--command"));
  command->footer(
      "Examples:\n"
      "  assay init                                 asks for everything\n"
      "  assay init gpu.yaml --workload resnet50 --vendor auto --yes\n"
      "  assay init my.yaml --command 'python3 train.py' --sample 'Tokens/p/s: 345.6' --yes\n"
      "\n"
      "Without a terminal the answers are the lines of standard input; an empty one is the "
      "default.");
  command->callback([given, &action] { action = [given] { return init(*given); }; });
}

}  // namespace assay::commands
