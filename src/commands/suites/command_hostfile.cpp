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
#include "core/text.h"
#include "rendezvous/hostfile.h"
#include "rendezvous/round_files.h"

namespace assay::commands {

namespace {

using rendezvous::HostfileForm;
using rendezvous::HostSlots;

struct HostfileOptions {
  std::string suite;
  std::string case_name;
  std::vector<std::string> hosts;
  int slots = 0;
  std::string form = "openmpi";
  std::string check;
  std::string convert;
  std::string out;
};

/// Takes slots that a file does not give from --slots.
void fill_slots(std::vector<HostSlots>& hosts, int slots) {
  for (HostSlots& host : hosts) {
    if (host.slots == 0) host.slots = slots;
    if (host.slots == 0)
      throw Error(ErrorKind::usage, "the host '" + host.host + "' has no number of slots",
                  "--slots", "give --slots, or host:n");
  }
}

std::vector<HostSlots> from_suite(const HostfileOptions& options, HostfileForm form) {
  const SuiteHosts suite = suite_hosts(options.suite, options.case_name);
  const int common = options.slots > 0 ? options.slots : suite.procs;
  std::vector<HostSlots> hosts = rendezvous::host_slots(suite.cluster, suite.hosts, common, form);
  for (std::size_t i = 0; i < hosts.size(); ++i)
    if (const plan::Host* host = suite.cluster.find_host(suite.hosts[i]);
        host != nullptr && common == 0)
      hosts[i].slots = host->slots;
  return hosts;
}

int run(const HostfileOptions& options) {
  const HostfileForm form = *parse_enum<HostfileForm>(options.form);
  std::vector<HostSlots> hosts;
  if (!options.check.empty()) {
    hosts = rendezvous::parse_hostfile(read_given_file(options.check), options.check, form);
    int slots = 0;
    for (const HostSlots& host : hosts) slots += host.slots;
    tell(fmt::format("{}: valid: form {}, {}, {}\n", options.check, options.form,
                     counted(hosts.size(), "host"), counted(slots, "slot")));
    return 0;
  }
  if (!options.convert.empty())
    hosts = rendezvous::parse_hostfile(read_given_file(options.convert), options.convert);
  else if (!options.suite.empty())
    hosts = from_suite(options, form);
  else if (!options.hosts.empty())
    hosts = rendezvous::parse_hostfile(join(options.hosts, "\n"), "--hosts");
  else
    throw Error(ErrorKind::usage, "there is nothing to make a hostfile of", {},
                "give a suite, --hosts or --convert; see --help");
  fill_slots(hosts, options.slots);
  const std::string text = rendezvous::render_hostfile(hosts, form);
  if (options.out.empty()) {
    fmt::print("{}", text);
  } else {
    write_output_file(options.out, text);
    tell(
        fmt::format("{}: form {}, {}\n", options.out, options.form, counted(hosts.size(), "host")));
  }
  return 0;
}

}  // namespace

void add_hostfile(CLI::App& app, Action& action) {
  const auto options = std::make_shared<HostfileOptions>();
  CLI::App* command = add_known(app, "hostfile");
  auto* suite =
      command->add_option("suite", options->suite, "Suite with cluster.hosts")->type_name("SUITE");
  command->add_option("--case", options->case_name, "Only the hosts and slots of this case")
      ->type_name("NAME")
      ->needs(suite);
  auto* hosts = command->add_option("--hosts", options->hosts, "Hosts, with commas: a,b or a:8,b:8")
                    ->delimiter(',')
                    ->type_name("HOST,…")
                    ->allow_extra_args(false)
                    ->excludes(suite);
  command->add_option("--slots", options->slots, "Processes of every host")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--form", options->form,
                   "openmpi (host slots=n), mpich (host:n), horovod, or ib (ib_config: the hosts' "
                   "InfiniBand names)")
      ->check(CLI::IsMember(enum_texts<HostfileForm>()));
  auto* check = command
                    ->add_option("--check", options->check,
                                 "Check that a file is what the programs of the form read")
                    ->type_name("FILE");
  auto* convert = command->add_option("--convert", options->convert, "Read a hostfile of any form")
                      ->type_name("FILE");
  for (auto* file : {check, convert})
    for (auto* source : {suite, hosts}) file->excludes(source);
  check->excludes(convert);
  command->add_option("-o,--out", options->out, "Write it here, at once, instead of to stdout")
      ->type_name("FILE")
      ->excludes(check);
  command->footer(
      "Examples:\n"
      "  assay hostfile suite.yaml --case bert -o hostfile\n"
      "  assay hostfile --hosts node1,node2 --slots 8 --form mpich\n"
      "  assay hostfile --convert machines --form horovod\n"
      "  assay hostfile --check ib_config --form ib");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace assay::commands
