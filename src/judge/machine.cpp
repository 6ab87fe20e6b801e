#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "judge/round_context.h"

namespace assay::judge {

namespace {

using telemetry::MachineUse;

// The kernel counts CPU time in hundredths of a second and rounds at both ends for each CPU.
constexpr double kResolution_s = 0.02;
constexpr double kWorthNaming = 0.01;  // of the machine's CPUs

// The agents of a round on one machine; the first one had ranks to start.
struct Machine {
  std::string who;  // its host, or "node 3"
  std::vector<const MachineUse*> agents;

  // The agent that watched longest covers the time of all the others.
  [[nodiscard]] const MachineUse& longest() const {
    return **std::ranges::max_element(agents, {}, [](const MachineUse* a) { return a->seconds; });
  }
  // The agent that looked at processes.
  [[nodiscard]] const MachineUse& observer() const {
    const auto found = std::ranges::find_if(agents, [](const MachineUse* a) { return a->listed; });
    return found == agents.end() ? *agents.front() : **found;
  }
};

// Rejects impossible numbers from the journal.
bool is_usable(const MachineUse& use) {
  const auto sane = [](double value) { return std::isfinite(value) && value >= 0; };
  return use.cpus > 0 && use.seconds > 0 && use.runnable >= 0 &&
         std::ranges::all_of(
             std::array{use.seconds, use.busy_s, use.own_s, use.kernel_s, use.starter_s,
                        use.named_s, use.steal_s, use.load, use.memory_stalled_s.value_or(0),
                        use.throttled_s.value_or(0)},
             sane);
}

std::vector<Machine> machines_of(const RoundEvidence& evidence) {
  std::map<std::string, std::size_t> known;  // by boot id
  std::vector<Machine> out;
  for (const NodeEvidence& node : evidence.nodes) {
    // An agent without ranks did not wait for the round, so what ran there may belong to it.
    if (!node.machine || node.machine->ranks == 0 || !is_usable(*node.machine)) continue;
    const std::string& boot = node.machine->boot_id;
    const auto [place, is_new] =
        known.try_emplace(boot.empty() ? fmt::format("node {}", node.node) : boot, out.size());
    if (is_new)
      out.push_back({node.host.empty() ? fmt::format("node {}", node.node) : node.host, {}});
    out[place->second].agents.push_back(&*node.machine);
  }
  return out;
}

std::string percent(double share) {
  return fmt::format("{} %", format_number(std::round(share * 1000) / 10));
}

// CPU-seconds used by anything outside the round.
double used_by_others_s(const Machine& machine) {
  const MachineUse& use = machine.longest();
  double rest = use.busy_s - machine.observer().kernel_s - kResolution_s * use.cpus;
  std::map<int, double> starters;
  bool elsewhere = false;
  for (const MachineUse* agent : machine.agents) {
    rest -= agent->own_s;
    if (agent->starter_pid != 0)
      starters[agent->starter_pid] = std::max(starters[agent->starter_pid], agent->starter_s);
    elsewhere = elsewhere || agent->own_elsewhere;
  }
  for (const auto& [pid, seconds] : starters) rest -= seconds;
  // A daemon's work for the round counts for the machine but for no process, so only time seen in
  // other programs counts.
  if (elsewhere) rest = std::min(rest, machine.observer().named_s);
  return std::max(0.0, rest);
}

// "chrome 31 % (pid 812, user ann), make 4 % (3 processes, the busiest has pid 90, user bob)",
// relative to the same CPUs as `whole`. Process times include a little before and after and use
// other clocks than the machine's, so their sum is capped at the whole.
std::string name_programs(const MachineUse& use, double whole) {
  const double all_s = use.cpus * use.seconds;
  std::vector<std::string> parts;
  for (const MachineUse::Program& program : use.others) {
    const double share = std::min(program.cpu_s / all_s, whole);
    whole -= share;
    if (share < kWorthNaming) continue;
    const std::string user = program.user.empty() ? "" : ", user " + printable(program.user);
    const std::string count =
        program.processes > 1 ? fmt::format("{} processes, the busiest ", program.processes) : "";
    parts.push_back(fmt::format("{} {} ({}pid {}{})", printable(program.name), percent(share),
                                count, program.pid, user));
  }
  return parts.empty() ? "by programs that were not seen" : "by " + join(parts, ", ");
}

// The machine with the worst value of the fact represents the round.
class Worst {
 public:
  explicit Worst(std::string_view name) : name_(name) {}
  void look(double value, std::string detail) {
    if (value_ && value <= *value_) return;
    value_ = value;
    detail_ = std::move(detail);
  }
  void state(RoundContext& round) {
    if (value_) round.fact(name_, *value_, std::move(detail_));
  }

 private:
  std::string name_;
  std::optional<double> value_;
  std::string detail_;
};

}  // namespace

void compute_machines(RoundContext& round) {
  std::vector<std::string> silent;
  for (const NodeEvidence& node : round.evidence.nodes)
    if (node.agent_cpu_s &&
        !(node.machine && (node.machine->ranks == 0 || is_usable(*node.machine))))
      silent.push_back(node.host.empty() ? fmt::format("node {}", node.node) : node.host);
  if (std::ranges::any_of(round.evidence.nodes,
                          [](const NodeEvidence& node) { return node.agent_cpu_s.has_value(); }))
    round.fact("machines_not_watched", static_cast<double>(silent.size()), join(silent, ", "));

  Worst others("cpu_by_others");
  Worst load("load_before");
  Worst steal("steal_share");
  Worst pressure("memory_pressure");
  Worst swapping("swap_bps");
  Worst throttling("cpu_throttled");
  Worst other_runs("other_runs");
  Worst shared("devices_shared");
  for (const Machine& machine : machines_of(round.evidence)) {
    const MachineUse& use = machine.longest();
    const double all_s = use.cpus * use.seconds;
    const double share = used_by_others_s(machine) / all_s;
    others.look(share, fmt::format("{} of {} CPUs on {}, {}", percent(share), use.cpus, machine.who,
                                   name_programs(machine.observer(), share)));
    // The last minute's load may be the previous round's, and runnable tasks are momentary: only
    // both together mean load. The first agent to start saw no other agent's ranks.
    double waiting = use.load;
    for (const MachineUse* agent : machine.agents)
      waiting = std::min({waiting, agent->load, static_cast<double>(agent->runnable)});
    load.look(waiting / use.cpus,
              fmt::format("a load of {} in the last minute and {} runnable tasks on {} CPUs of {}",
                          format_number(use.load), use.runnable, use.cpus, machine.who));
    steal.look(use.steal_s / all_s,
               fmt::format("{} of the CPU time of {}", percent(use.steal_s / all_s), machine.who));
    if (use.memory_stalled_s)
      pressure.look(*use.memory_stalled_s / use.seconds,
                    fmt::format("{} of the round's time on {}",
                                percent(*use.memory_stalled_s / use.seconds), machine.who));
    if (use.swapped_bytes) {
      const double rate = static_cast<double>(*use.swapped_bytes) / use.seconds;
      swapping.look(rate,
                    fmt::format("{} on {}", format_bytes(static_cast<double>(*use.swapped_bytes)),
                                machine.who));
    }
    for (const MachineUse* agent : machine.agents) {
      if (!agent->device_users) continue;
      std::set<int> devices;
      std::vector<std::string> who;
      for (const MachineUse::DeviceUser& user : *agent->device_users) {
        devices.insert(user.device);
        who.push_back(fmt::format("dev{} by {} (pid {}, user {})", user.device,
                                  printable(user.name), user.pid, printable(user.user)));
      }
      shared.look(static_cast<double>(devices.size()),
                  who.empty() ? "" : fmt::format("on {}: {}", machine.who, join(who, ", ")));
    }
    for (const MachineUse* agent : machine.agents) {
      if (!agent->other_runs) continue;
      double together_s = 0;
      std::vector<std::string> who;
      for (const MachineUse::OtherRun& run : *agent->other_runs) {
        if (!(run.seconds >= 0)) continue;
        together_s += run.seconds;
        who.push_back(fmt::format("{} of {} for {} s", printable(run.run), printable(run.user),
                                  format_number(std::round(run.seconds * 10) / 10)));
      }
      other_runs.look(std::min(1.0, together_s / agent->seconds),
                      who.empty() ? "" : fmt::format("on {}: {}", machine.who, join(who, ", ")));
    }
    if (use.throttled_s)
      throttling.look(*use.throttled_s / use.seconds,
                      fmt::format("{} of the round's time on {}",
                                  percent(*use.throttled_s / use.seconds), machine.who));
  }
  for (Worst* fact :
       {&others, &load, &steal, &pressure, &swapping, &throttling, &other_runs, &shared})
    fact->state(round);
}

}  // namespace assay::judge
