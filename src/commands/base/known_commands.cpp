#include "commands/base/known_commands.h"

#include <array>
#include <string>

#include "commands/base/extras.h"
#include "core/error.h"

namespace assay::commands {

namespace {

constexpr auto kKnown = std::to_array<KnownCommand>({
    {"import", "import", "Turn another system's configuration into a suite"},
    {"ops", "ops", "Count the operations of a model of AutoML, layer by layer"},
    {"ranktable", "ranktable", "Make, check or convert an HCCL rank table (Ascend)"},
    {"hostfile", "hostfile", "Make, check or convert a hostfile for MPI or Horovod"},
    {"prometheus", "prometheus",
     "Write prometheus.yml and a Grafana dashboard for a suite's hosts"},
    {"ais", "ais", "Workload packages of ais-bench: run one for a tester, test, pack or stop it"},
    {"cloud", "cloud",
     "What the cloud of a suite offers: flavors and how they are billed, engines"},
    {"obs", "obs", "Files in OBS, or in any S3-compatible store: list, copy, synchronize, remove"},
    {"compare", "compare", "Say what became faster or slower, and whether that is certain"},
    {"history", "history",
     "Show how cases went over all runs, and where and with what they changed"},
    {"find", "find", "List runs by case, machine, verdict, tag or metric"},
    {"tag", "tag", "Put tags on a run (+TAG), take them off (-TAG), or show them"},
    {"note", "note", "Write a note on a run, or show its notes"},
    {"rm", "rm", "Remove runs, by name, by age or as 'find' chooses"},
    {"archive", "archive", "Pack runs and remove their files; the history keeps their numbers"},
    {"baseline", "baseline",
     "Write down what cases reach on this hardware, so that less is noticed"},
    {"pack", "pack", "Make one file of a run that can be checked and opened anywhere"},
    {"unpack", "unpack", "Verify a packed run, say who signed it, and open it"},
    {"export", "export", "Write a run in the format of another program"},
    {"push", "push", "Send a run with its evidence to a tester, which judges it again"},
    {"challenge", "challenge",
     "Have a tester ask for a case of a test to be measured again with a new seed"},
    {"serve", "serve",
     "Be a server: run people's jobs, receive runs with their evidence and judge them"},
    {"judge_evidence", "judge-evidence", "Started by 'assay serve' to judge untrusted evidence",
     false},
    {"submit", "submit", "Submit a suite or a command as a job of the platform"},
    {"secret", "secret", "Secrets that jobs are given by name, and nobody is shown"},
    {"schedules", "schedules", "List the jobs that are submitted again and again"},
    {"jobs", "jobs", "List the jobs of the platform"},
    {"job", "job", "Show a job: its state, why it waits, its events"},
    {"job_deeds", "cancel", "Stop jobs for good"},
    {"job_deeds", "pause", "Stop jobs, to go on later"},
    {"job_deeds", "resume", "Let paused jobs go on"},
    {"ssh", "ssh", "Enter a job that runs: a shell, or a command"},
    {"queue", "queue", "Show the queues, and who waits in what order"},
    {"nodes", "nodes", "Show the nodes of the platform, or drain some"},
    {"usage", "usage", "Show device hours, idle hours and energy by user and team"},
    {"login", "login", "Sign in to a server of the platform, for the commands here"},
    {"job_controller", "job-controller", "Started by 'assay serve' to run a job", false},
    {"init", "init", "Write a suite by asking, and check it"},
    {"key", "key", "The key that signs your runs, and the keys that you trust"},
    {"index_run", "index-run", "Started at the end of a run to enter it in the history", false},
});

}  // namespace

std::span<const KnownCommand> known_commands() {
  return kKnown;
}

CLI::App* add_known(CLI::App& app, std::string_view name) {
  for (const KnownCommand& one : kKnown) {
    if (one.name != name) continue;
    CLI::App* command = app.add_subcommand(one.name, one.what);
    if (!one.shown) command->group("");
    return command;
  }
  throw Error(ErrorKind::internal, "no such command", std::string(name));
}

void add_known_of(CLI::App& app, Action& action, std::string_view adder) {
  for (const KnownCommand& one : kKnown) {
    if (one.adder != adder) continue;
    CLI::App* command = add_known(app, one.name);
    command->prefix_command();
    command->set_help_flag();  // assay-full has its help, too
    command->callback([&one, &action] {
      action = [&one]() -> int { go_on_as_full("'assay " + std::string(one.name) + "'"); };
    });
  }
}

bool is_elsewhere(const CLI::App& command) {
  return command.get_prefix_command();
}

}  // namespace assay::commands
