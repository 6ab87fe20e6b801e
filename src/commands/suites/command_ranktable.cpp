#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/output_file.h"
#include "commands/base/paths.h"
#include "commands/base/terminal.h"
#include "commands/suites/cluster_hosts.h"
#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/text.h"
#include "core/units.h"
#include "lang/language.h"
#include "rendezvous/device_addresses.h"
#include "rendezvous/rank_table.h"
#include "rendezvous/round_files.h"

namespace assay::commands {

namespace {

using rendezvous::Finding;
using rendezvous::RankTable;
using rendezvous::ServerSpec;
using rendezvous::TableForm;
using rendezvous::TableReading;

constexpr std::size_t kFindingsShown = 100;

struct RanktableOptions {
  std::string suite;
  std::string case_name;
  std::vector<std::string> hosts;
  std::vector<std::string> device_ips;
  std::vector<std::string> hccn_conf;
  bool hccn_tool = false;
  int devices = 0;
  std::string check;
  std::string convert;
  std::string form;
  std::string status = "completed";
  std::string board_id;
  std::string wait = "0s";
  std::string out;
  rendezvous::CheckOptions rules;
};

std::string summary(const RankTable& table, TableForm form) {
  const std::size_t devices = table.device_count();
  return fmt::format("form {}, {}, {}, {}", to_text(form), counted(table.servers.size(), "server"),
                     counted(devices, "device"), table.completed ? "completed" : "initializing");
}

void print_findings(const TableReading& reading, const std::string& file) {
  std::size_t shown = 0;
  for (const Finding& finding : reading.findings) {
    if (++shown > kFindingsShown) {
      tell_error(
          fmt::format("{}: … and {} more\n", file, reading.findings.size() - kFindingsShown));
      return;
    }
    tell_error(fmt::format("{}: {}: {}\n", lang::name(file),
                           finding.severity == Finding::Severity::note ? "note" : "invalid",
                           to_string(finding)));
  }
}

Nanoseconds wait_limit(const RanktableOptions& options) {
  const auto wait = parse_duration(options.wait);
  if (!wait || *wait > std::chrono::hours(1))
    throw Error(ErrorKind::usage, "expected a duration of at most 1h, got '" + options.wait + "'",
                "--wait", "for example --wait 60s");
  return *wait;
}

[[noreturn]] void not_ready(const std::string& file) {
  throw Error(ErrorKind::environment, "the rank table is still initializing", file,
              "its writer has not finished; --wait 60s waits for it");
}

int check(const RanktableOptions& options) {
  const TableReading reading =
      rendezvous::load_rank_table(options.check, options.rules, wait_limit(options));
  print_findings(reading, options.check);
  if (!reading.valid()) {
    const auto count = std::ranges::count_if(reading.findings, [](const Finding& finding) {
      return finding.severity != Finding::Severity::note;
    });
    throw Error(ErrorKind::config, "not a valid rank table: " + counted(count, "violation"),
                options.check, "docs/rendezvous.md has the rules");
  }
  if (!options.form.empty() && options.form != to_text(reading.form))
    throw Error(
        ErrorKind::config,
        fmt::format("the table has the form {}, not {}", to_text(reading.form), options.form),
        options.check, "--convert writes it in another form");
  if (!reading.table.completed) not_ready(options.check);
  tell(fmt::format("{}: valid: {}\n", options.check, summary(reading.table, reading.form)));
  return 0;
}

void write(const RankTable& table, TableForm form, const RanktableOptions& options,
           const std::string& where) {
  const std::string text =
      dump_pretty(rendezvous::render_rank_table(table, form, options.rules, where));
  if (options.out.empty()) {
    fmt::print("{}", text);
    return;
  }
  write_output_file(options.out, text);
  tell(fmt::format("{}: {}\n", lang::name(options.out), summary(table, form)));
}

int convert(const RanktableOptions& options) {
  TableReading reading =
      rendezvous::load_rank_table(options.convert, options.rules, wait_limit(options));
  rendezvous::require_readable(reading, options.convert);
  if (!reading.table.completed) not_ready(options.convert);
  print_findings(reading, options.convert);
  const TableForm form = *parse_enum<TableForm>(options.form);
  for (const std::string& lost : rendezvous::lost_in(reading.table, form))
    tell_error(fmt::format("{}: note: the form {} has no {}; left out\n", options.convert,
                           to_text(form), lost));
  if (!options.board_id.empty()) reading.table.lab.board_id = options.board_id;
  write(reading.table, form, options, options.convert);
  return 0;
}

/// The number of devices common to all servers; 0 if unknown.
int common_devices(const std::vector<ServerSpec>& servers) {
  std::size_t most = 0;
  for (const ServerSpec& server : servers) most = std::max(most, server.device_ips.size());
  return static_cast<int>(most);
}

int need_devices(int devices) {
  if (devices > 0) return devices;
  throw Error(ErrorKind::usage, "it is not known how many devices a host has", "--devices",
              "give --devices, --case, or the device IPs of the hosts");
}

/// Distributes --device-ips, which list one host after another.
void deal_out(const RanktableOptions& options, std::vector<ServerSpec>& servers) {
  const std::size_t total = options.device_ips.size();
  const std::size_t each =
      options.devices > 0 ? static_cast<std::size_t>(options.devices) : total / servers.size();
  if (each == 0 || each * servers.size() != total)
    throw Error(
        ErrorKind::usage,
        fmt::format("{} for {}{}", counted(total, "device IP"), counted(servers.size(), "host"),
                    options.devices > 0 ? fmt::format(" with {} devices each", options.devices)
                                        : std::string()),
        "--device-ips", "give the IPs of every host, one host after the other");
  for (std::size_t i = 0; i < total; ++i)
    servers[i / each].device_ips.push_back(options.device_ips[i]);
}

void read_hccn_files(const RanktableOptions& options, std::vector<ServerSpec>& servers) {
  if (options.hccn_conf.size() != servers.size())
    throw Error(
        ErrorKind::usage,
        counted(options.hccn_conf.size(), "file") + " for " + counted(servers.size(), "host"),
        "--hccn-conf", "give the /etc/hccn.conf of every host, in the order of the hosts");
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const std::string& file = options.hccn_conf[i];
    servers[i].device_ips = rendezvous::device_list(
        rendezvous::parse_hccn_conf(read_given_file(file), file), options.devices, file);
  }
}

int make(const RanktableOptions& options) {
  RankTable table;
  TableForm form = TableForm::v1_0;
  std::string where = options.suite;
  std::vector<ServerSpec> servers;
  int devices = options.devices;
  if (!options.suite.empty()) {
    const SuiteHosts suite = suite_hosts(options.suite, options.case_name);
    where = suite.file;
    form = rendezvous::table_form(suite.cluster);
    servers = rendezvous::server_specs(suite.cluster, suite.hosts);
    if (devices == 0) devices = suite.procs;
  } else {
    for (const std::string& host : options.hosts) servers.push_back({host, {}});
    if (servers.empty() && (options.hccn_tool || !options.hccn_conf.empty()))
      servers.push_back({host_name(), {}});
    if (servers.empty())
      throw Error(ErrorKind::usage, "there is nothing to make a rank table of", {},
                  "give a suite, or --hosts with --device-ips or --hccn-conf; see --help");
  }
  if (!options.device_ips.empty()) deal_out(options, servers);
  if (!options.hccn_conf.empty()) read_hccn_files(options, servers);
  if (options.hccn_tool) {
    if (servers.size() != 1)
      throw Error(ErrorKind::usage, "hccn_tool knows the devices of this machine only",
                  "--hccn-tool", "for several hosts use --hccn-conf or --device-ips");
    servers[0].device_ips = rendezvous::query_hccn_tool(devices > 0 ? devices : 8);
  }
  if (devices == 0) devices = common_devices(servers);
  if (!options.form.empty()) form = *parse_enum<TableForm>(options.form);
  if (options.status == "initializing") {
    table.completed = false;
  } else {
    table = rendezvous::make_rank_table(servers, need_devices(devices));
  }
  if (!options.board_id.empty()) table.lab.board_id = options.board_id;
  write(table, form, options, where);
  return 0;
}

int run(const RanktableOptions& options) {
  if (!options.check.empty()) return check(options);
  if (!options.convert.empty()) return convert(options);
  return make(options);
}

}  // namespace

void add_ranktable(CLI::App& app, Action& action) {
  const auto options = std::make_shared<RanktableOptions>();
  CLI::App* command = add_known(app, "ranktable");
  auto* suite = command->add_option("suite", options->suite,
                                    "Suite whose cluster.hosts have server_id and device_ips");
  command->add_option("--case", options->case_name, "Only the hosts and devices of this case")
      ->type_name("NAME")
      ->needs(suite);
  auto* hosts = command->add_option("--hosts", options->hosts, "Server ids, with commas")
                    ->delimiter(',')
                    ->type_name("HOST,…")
                    ->allow_extra_args(false)
                    ->excludes(suite);
  auto* ips = command
                  ->add_option("--device-ips", options->device_ips,
                               "Of all devices, one host after the other, with commas")
                  ->delimiter(',')
                  ->type_name("IP,…")
                  ->allow_extra_args(false)
                  ->needs(hosts);
  auto* conf = command
                   ->add_option("--hccn-conf", options->hccn_conf,
                                "A host's /etc/hccn.conf; once for every host, in their order")
                   ->type_name("FILE")
                   ->allow_extra_args(false)
                   ->excludes(suite)
                   ->excludes(ips);
  auto* tool = command
                   ->add_flag("--hccn-tool", options->hccn_tool,
                              "Ask hccn_tool for the device IPs of this machine")
                   ->excludes(suite)
                   ->excludes(ips)
                   ->excludes(conf);
  command->add_option("--devices", options->devices, "Devices of every host")
      ->check(CLI::Range(1, 4096));
  auto* check_file = command
                         ->add_option("--check", options->check,
                                      "Check an existing table: every violation with its path")
                         ->type_name("FILE");
  auto* convert_file =
      command
          ->add_option("--convert", options->convert, "Write an existing table in another --form")
          ->type_name("FILE");
  auto* form = command
                   ->add_option("--form", options->form,
                                "1.0, 1.2 (super-pods), cloud or lab (MindSpore 0.x)")
                   ->check(CLI::IsMember(enum_texts<TableForm>()));
  convert_file->needs(form);
  for (auto* file : {check_file, convert_file})
    for (auto* source : {suite, hosts, ips, conf, tool}) file->excludes(source);
  check_file->excludes(convert_file);
  command
      ->add_option("--status", options->status,
                   "completed, or initializing: a table without devices that jobs wait for")
      ->check(CLI::IsMember({"completed", "initializing"}))
      ->excludes(check_file)
      ->excludes(convert_file);
  command
      ->add_option("--wait", options->wait,
                   "With --check and --convert: so long until the table is completed")
      ->type_name("TIME");
  command
      ->add_option("--max-devices", options->rules.max_devices,
                   "Of a server (default: 8, and 16 for the form 1.2)")
      ->check(CLI::Range(1, 4096));
  command->add_option("--board-id", options->board_id, "Of the lab form (default: 0x0020, arm)")
      ->check(CLI::IsMember({"0x0020", "0x0000"}));
  command->add_option("-o,--out", options->out, "Write it here, at once, instead of to stdout")
      ->type_name("FILE")
      ->excludes(check_file);
  command->footer(
      "Examples:\n"
      "  assay ranktable suite.yaml --case bert -o hccl.json\n"
      "  assay ranktable --hosts 10.1.2.3,10.1.2.4 --hccn-conf n1.conf --hccn-conf n2.conf\n"
      "  assay ranktable --hosts 10.1.2.3 --device-ips 192.168.10.1,192.168.20.1 --form lab\n"
      "  assay ranktable --check /user/config/jobstart_hccl.json --wait 60s\n"
      "  assay ranktable --convert hccl_ms.json --form 1.0 -o hccl.json\n"
      "\n"
      "Exit codes: 0 ok; 2 the table or what it is made of is wrong; 3 it is not completed yet.");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace assay::commands
