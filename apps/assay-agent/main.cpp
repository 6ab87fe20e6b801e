// The supervisor that the controller starts on every node. It exchanges JSON lines on stdin and
// stdout (docs/dev/agent-protocol.md) and is not meant to be started by hand.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <asio/io_context.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/guardian.h"
#include "agent/merge_commands.h"
#include "agent/messages.h"
#include "agent/node_files.h"
#include "agent/one_shot_commands.h"
#include "agent/round_cgroup.h"
#include "agent/visitors.h"
#include "core/error.h"
#include "core/host.h"
#include "core/json.h"
#include "core/json_error.h"
#include "core/parse_number.h"
#include "core/process_name.h"
#include "core/process_tree.h"
#include "core/version.h"
#include "entry/node_command.h"
#include "entry/round_ssh.h"

namespace {

constexpr std::string_view kUsage =
    "usage: assay-agent --node N          serve on stdin and stdout as node N ('slurm': the "
    "step's;\n"
    "                                     'slurm:C+K': the step's and K, of component C)\n"
    "       assay-agent --send DIR MOST   send a folder to stdout; stdin says what is there "
    "already;\n"
    "                                     of what is no evidence, MOST bytes\n"
    "       assay-agent --sweep ROUND_ID [--agent PROCESS]... [COMMAND]...\n"
    "                                     kill what a lost agent's round left behind, and what is\n"
    "                                     left of the agent; then clean up. ROUND_ID may be empty\n"
    "       assay-agent --enter REQUEST   connect stdin and stdout with something beside a job\n"
    "       assay-agent --visitors        in a container: run what other nodes of its round start\n"
    "       assay-agent --until COMMANDS  run commands, JSON lists, until one succeeds\n"
    "       assay-agent --merge COMMANDS  run commands, JSON lists, at once as if they were one\n"
    "       assay-agent --version\n"
    "       ssh ...                       (under this name) ssh to another node of a round\n";

// For programs of earlier versions that were copied to this node.
constexpr assay::Nanoseconds kProgramsUnusedFor = std::chrono::hours(24 * 30);

struct Place {
  int node = 0;
  std::string component{};  // of a heterogeneous Slurm job
};

std::optional<Place> place_of(std::string_view text) {
  if (!text.starts_with("slurm")) {
    const auto node = assay::parse_number<int>(text, 0);
    return node ? std::optional(Place{*node}) : std::nullopt;
  }
  const char* id = std::getenv("SLURM_NODEID");
  const auto own = assay::parse_number<int>(id == nullptr ? "" : id, 0);
  if (!own) return std::nullopt;
  text.remove_prefix(std::string_view("slurm").size());
  if (text.empty()) return Place{*own};
  // Every component counts its nodes from 0.
  const auto plus = text.find('+');
  if (!text.starts_with(':') || plus == std::string_view::npos) return std::nullopt;
  const auto component = assay::parse_number<int>(text.substr(1, plus - 1), 0);
  const auto first = assay::parse_number<int>(text.substr(plus + 1), 0);
  if (!component || !first) return std::nullopt;
  return Place{*first + *own, std::to_string(*component)};
}

void say_begun(int node) {
  const assay::agent::Begun begun{{assay::process_name(::getpid())}};
  fmt::print("{}", assay::agent::Encoder().encode(node, assay::agent::to_json(begun)));
  std::fflush(stdout);
}

int serve(const Place& place) {
  // Sweeps what earlier rounds left here if their agents and guardians were killed.
  (void)assay::agent::sweep_cgroups(assay::agent::cgroup_place());
  asio::io_context loop(1);
  assay::agent::Agent agent(loop, place.node, ::dup(STDIN_FILENO), ::dup(STDOUT_FILENO));
  agent.start(place.component);
  // Beside the loop: pruning may take long on a slow disk. Ends before the agent does.
  const std::jthread pruning([] {
    try {
      const auto folder = assay::program_folder();
      if (folder.empty()) return;
      (void)assay::agent::prune_programs(folder, kProgramsUnusedFor);
      (void)assay::agent::prune_runs(folder, kProgramsUnusedFor);
    } catch (const std::exception&) {  // Another agent will try again some other day.
    }
  });
  loop.run();
  // Does not wait for a hanging command (a driver's, for example), which dies with this process.
  if (agent.busy()) ::_exit(0);
  return 0;
}

int sweep(const std::string& round_id, std::vector<std::string> rest) {
  std::vector<std::string> agents;
  while (rest.size() >= 2 && rest.front() == "--agent") {
    agents.push_back(std::move(rest[1]));
    rest.erase(rest.begin(), rest.begin() + 2);
  }
  int killed = assay::agent::sweep_agents(agents);
  if (!round_id.empty()) {
    killed += assay::sweep_round(round_id);
    killed += assay::agent::sweep_cgroups(assay::agent::cgroup_place(), round_id);
    assay::agent::remove_round_ssh_folders(round_id);
  }
  fmt::print("{}\n", killed);
  assay::agent::run_cleanups(rest);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  try {
    if (argc > 0 && std::filesystem::path(argv[0]).filename() == "ssh")
      return assay::entry::run_round_ssh({argv + 1, argv + argc});
    if (command == "--version" && argc == 2) {
      fmt::print("assay-agent {}\n", assay::version_string());
      return 0;
    }
    if (command == "--until" && argc == 3)
      return assay::agent::run_until_one_succeeds(assay::parse_json(argv[2], "--until"));
    if (command == "--merge" && argc == 3)
      return assay::agent::merge_commands(
          assay::parse_json(argv[2], "--merge").get<std::vector<std::vector<std::string>>>(),
          STDIN_FILENO, STDOUT_FILENO);
    if (command == "--visitors" && argc == 2) return assay::agent::host_visitors();
    if (command == "--enter" && argc == 3) return assay::entry::run_node_command(argv[2]);
    if (command == "--sweep" && argc >= 3) return sweep(argv[2], {argv + 3, argv + argc});
    if (command == "--send" && argc == 4) {
      if (const auto most = assay::parse_number<std::uint64_t>(argv[3])) {
        assay::agent::send_node_files(argv[2], *most, STDIN_FILENO, STDOUT_FILENO);
        return 0;
      }
    }
    if (command == "--node" && argc == 3) {
      if (const auto place = place_of(argv[2])) {
        say_begun(place->node);
        return assay::agent::run_guarded([&] { return serve(*place); });
      }
    }
  } catch (const assay::Error& error) {
    fmt::print(stderr, "assay-agent: {}\n", error.what());
    return assay::exit_code(error.kind());
  } catch (const std::exception& error) {
    fmt::print(stderr, "assay-agent: {}\n", assay::plain_error(error));
    return assay::exit_code(assay::ErrorKind::internal);
  }
  fmt::print(stderr, "{}", kUsage);
  return assay::exit_code(assay::ErrorKind::usage);
}
