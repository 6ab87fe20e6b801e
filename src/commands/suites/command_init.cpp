#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "catalog/catalog.h"
#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/output_file.h"
#include "commands/base/questions.h"
#include "commands/base/terminal.h"
#include "commands/runs/planning.h"
#include "commands/suites/find_devices.h"
#include "core/error.h"
#include "core/files.h"
#include "core/metric.h"
#include "core/parse_number.h"
#include "core/pattern.h"
#include "core/processors.h"
#include "core/text.h"
#include "importer/line_numbers.h"
#include "importer/line_words.h"
#include "importer/suite_draft.h"
#include "judge/output_reader.h"
#include "judge/printed_number.h"
#include "lang/language.h"

namespace assay::commands {

namespace {

using importer::DraftLauncher;
using importer::NumberInLine;
using importer::PrintedMetric;
using importer::SuiteDraft;

struct InitOptions {
  std::string file = "my.yaml";
  std::string name, launcher, hosts, user, partition, vendor, workload, command;
  std::string nodes, procs, repeats;
  std::string sample, number, pattern, metric, unit, better;
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

// The number that counts, and how it is measured.
struct Chosen {
  PrintedMetric metric;
  std::optional<NumberInLine> number{};  ///< of the sample line
};

// What a run would read from the sample line, with the code that reads its output. Throws Error of
// kind usage.
double read_back(const PrintedMetric& metric, const std::string& sample) {
  const std::string line = "the line was: '" + printable(sample) + "'";
  try {
    const Pattern compiled(metric.match);
    if (compiled.groups() != 1 && !compiled.group("value"))
      throw Error(ErrorKind::usage, "the pattern needs exactly one group in ( ), the number",
                  metric.match);
  } catch (const PatternError& error) {
    throw Error(ErrorKind::usage, std::string("not a regular expression (RE2): ") + error.what(),
                metric.match);
  }
  plan::OutputMetric wanted;
  wanted.name = metric.name;
  wanted.pattern = metric.match;
  wanted.unit = metric.unit;
  wanted.kind = metric.bar ? plan::OutputKind::speed : plan::OutputKind::number;
  const std::vector<plan::OutputMetric> metrics{wanted};
  std::vector<judge::OutputValues> found;
  judge::OutputReader reader(metrics, found);
  reader.read(sample, 1, /*ends=*/true);
  const judge::OutputValues& values = found.front();
  if (values.unreadable() > 0)
    throw Error(ErrorKind::usage,
                fmt::format("what the pattern finds cannot be read as a number: '{}'",
                            printable(values.first_unreadable())),
                metric.match, line);
  if (values.count() == 0)
    throw Error(ErrorKind::usage, "the pattern does not match the sample line", metric.match, line);
  return *values.reduced(wanted.reduce);
}

// The same for a pattern that was made here: it must find the chosen number and no other.
double read_back(const Chosen& chosen, const std::string& sample) {
  const PrintedMetric& metric = chosen.metric;
  const double value = read_back(metric, sample);
  const std::string printed = chosen.number->text + chosen.number->unit;
  const auto expected =
      metric.bar
          ? judge::printed_speed(printed, metric.unit.substr(0, metric.unit.rfind('/'))).value
          : judge::printed_number(chosen.number->text);
  if (!expected || *expected != value || Pattern(metric.match).search_all(sample).size() != 1)
    throw Error(ErrorKind::usage,
                fmt::format("no pattern was found that reads only '{}' from the line",
                            printable(std::string(trim(printed)))),
                "'" + printable(sample) + "'",
                "give --pattern, a regular expression with one group");
  return value;
}

Chosen choose_number(Questions& ask, const InitOptions& given, const std::string& sample) {
  const std::vector<NumberInLine> numbers = importer::numbers_in(sample);
  if (numbers.empty())
    throw Error(
        ErrorKind::usage,
        "no number with a name before it, or a unit such as img/s behind it, is in the line",
        "'" + printable(sample) + "'", "give --pattern, a regular expression with one group");
  for (std::size_t i = 0; i < numbers.size(); ++i)
    tell_error(fmt::format("  {}  {}\n", i + 1,
                           lang::name(printable(std::string(importer::own_label(numbers[i].label)) +
                                                numbers[i].text + numbers[i].unit))));
  const auto likely = importer::likely_metric(numbers);
  if (!likely && given.yes && given.number.empty())
    throw Error(ErrorKind::usage, "the line does not say surely which number counts and what it is",
                "'" + printable(sample) + "'",
                "choose one with --number, or give --pattern; --metric, --unit and --better say "
                "what it is");
  const int choice =
      number(ask.ask("Which of them", given.number, likely ? std::to_string(*likely + 1) : "",
                     number_from(1, static_cast<int>(numbers.size()))));
  const NumberInLine& chosen = numbers[static_cast<std::size_t>(choice - 1)];
  return {importer::printed_metric(chosen), chosen};
}

void ask_metric(Questions& ask, const InitOptions& given, SuiteDraft& draft) {
  if (draft.command.empty()) return;
  const std::string sample =
      ask.ask("A line that it prints, with the number that counts; empty: it writes PerfLog",
              given.sample, "");
  if (sample.empty() && given.pattern.empty()) return;
  Chosen chosen{{"value", given.pattern, "", "neither"}};
  if (given.pattern.empty()) chosen = choose_number(ask, given, sample);
  PrintedMetric& metric = chosen.metric;
  if (!given.metric.empty()) metric.name = given.metric;
  if (!given.unit.empty()) metric.unit = given.unit;
  if (!sample.empty()) {
    const double value = chosen.number ? read_back(chosen, sample) : read_back(metric, sample);
    tell_error(
        fmt::format("  {}  reads {}\n", lang::name(metric.match),
                    lang::name(std::string(trim(fmt::format("{:.10g} {}", value, metric.unit))))));
  }
  metric.name = ask.ask("What is it called", given.metric, metric.name, [](const auto& answer) {
    return Pattern("^[A-Za-z_][A-Za-z0-9_]*$").found_in(answer)
               ? std::string()
               : std::string("a metric's name has letters, digits and '_'");
  });
  metric.unit = ask.ask("Its unit", given.unit, metric.unit);
  metric.better = ask.ask("Which is better: higher, lower or neither", given.better, metric.better,
                          one_of(enum_texts<Better>()));
  if (!sample.empty()) (void)read_back(metric, sample);  // in the unit that was chosen
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
  CLI::App* command = add_known(app, "init");
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
  option("--number", given->number, "Which number of that line, as they are listed", "N");
  option("--pattern", given->pattern, "A regular expression with one group, the number", "PATTERN");
  option("--metric", given->metric, "What the number is called", "METRIC");
  option("--unit", given->unit, "Its unit", "UNIT");
  option("--better", given->better, "Which is better: higher, lower or neither", "DIRECTION");
  command->add_flag("--yes", given->yes, "Ask nothing: take the defaults");
  command->add_flag("--replace", given->replace, "Write over a file that exists");
  command->get_option("--workload")->excludes(command->get_option("--command"));
  command->get_option("--number")->excludes(command->get_option("--pattern"));
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
