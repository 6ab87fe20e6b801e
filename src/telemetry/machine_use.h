#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay::telemetry {

/// The use of a machine by others while a round ran on it, and its state just before: raw sums of
/// one agent, which the judge puts together (several agents may share a machine). Times are
/// CPU-seconds unless said otherwise. What this kernel does not tell is nothing, not zero.
struct MachineUse {
  /// A program outside of the round; processes of one name and user count together.
  struct Program {
    std::string name;
    std::string user;  ///< empty: it was gone before it could be asked
    int pid = 0;       ///< of the busiest
    int processes = 1;
    double cpu_s = 0;

    template <class Self, class F>
    static void fields(Self& self, F&& field) {
      field("name", self.name);
      field.optional("user", self.user);
      field("pid", self.pid);
      field("processes", self.processes);
      field("cpu_s", self.cpu_s);
    }
  };

  /// A round of another run on the same machine at the same time.
  struct OtherRun {
    std::string run;
    std::string user;
    double seconds = 0;  ///< by the clock, that both ran

    template <class Self, class F>
    static void fields(Self& self, F&& field) {
      field("run", self.run);
      field("user", self.user);
      field("seconds", self.seconds);
    }
  };

  /// A process outside of the round on a device that the round's processes computed on.
  struct DeviceUser {
    int device = 0;
    std::string name;
    std::string user;
    int pid = 0;

    template <class Self, class F>
    static void fields(Self& self, F&& field) {
      field("device", self.device);
      field("name", self.name);
      field("user", self.user);
      field("pid", self.pid);
    }
  };

  std::string boot_id;  ///< equal for agents of one machine
  int cpus = 0;         ///< that the agent and its ranks may use; all below is about these
  int ranks = 0;        ///< processes that the agent started
  double load = 0;      ///< mean of the last minute before the round
  int runnable = 0;     ///< tasks that wanted to run just before the round, without the agent's own
  double seconds = 0;   ///< from before the first rank to the end of the last, by the clock
  double busy_s = 0;    ///< user and system time of everything
  double own_s = 0;     ///< of the round's processes, the agent and its samplers
  double kernel_s = 0;  ///< of kernel threads, which work for everybody
  int starter_pid = 0;  ///< the controller, where it is an ancestor of the agent; 0: it is not
  double starter_s = 0;
  bool own_elsewhere = false;  ///< some of the round's processes are not children of the agent
  bool listed = true;          ///< processes were looked at; false: only the sums are known
  double named_s = 0;          ///< of all programs outside of the round that were seen
  double steal_s = 0;          ///< taken by the hypervisor
  std::optional<double> memory_stalled_s{};  ///< by the clock: when something waited for memory
  std::optional<std::uint64_t> swapped_bytes{};
  std::optional<double> throttled_s{};  ///< by the clock: heat slowed the hottest core or package
  std::vector<Program> others{};        ///< the busiest first, a few

  std::optional<std::vector<OtherRun>> other_runs{};  ///< nothing: they cannot be asked for here

  std::optional<std::vector<DeviceUser>> device_users{};  ///< nothing: none of ours was seen there

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field.optional("boot_id", self.boot_id);
    field("cpus", self.cpus);
    field("ranks", self.ranks);
    field("load", self.load);
    field("runnable", self.runnable);
    field("seconds", self.seconds);
    field("busy_s", self.busy_s);
    field("own_s", self.own_s);
    field("kernel_s", self.kernel_s);
    field("starter_pid", self.starter_pid);
    field("starter_s", self.starter_s);
    field("own_elsewhere", self.own_elsewhere);
    field("listed", self.listed);
    field("named_s", self.named_s);
    field("steal_s", self.steal_s);
    field.optional("memory_stalled_s", self.memory_stalled_s);
    field.optional("swapped_bytes", self.swapped_bytes);
    field.optional("throttled_s", self.throttled_s);
    field.optional("others", self.others);
    field.optional("other_runs", self.other_runs);
    field.optional("device_users", self.device_users);
  }
};

}  // namespace assay::telemetry
