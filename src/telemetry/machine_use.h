#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay::telemetry {

/// How else a machine was used while a round ran on it, and its state just before: one agent's raw
/// sums, which the judge combines (several agents may share a machine). Times are CPU-seconds
/// unless stated otherwise. Values that this kernel does not provide are nothing, not zero.
struct MachineUse {
  /// A program outside the round; processes with the same name and user count together.
  struct Program {
    std::string name;
    std::string user;  ///< empty: it ended before it could be looked up
    int pid = 0;       ///< the busiest process's
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

  /// Another run's round on the same machine at the same time.
  struct OtherRun {
    std::string run;
    std::string user;
    double seconds = 0;  ///< of overlap, by the clock

    template <class Self, class F>
    static void fields(Self& self, F&& field) {
      field("run", self.run);
      field("user", self.user);
      field("seconds", self.seconds);
    }
  };

  /// A process outside the round on a device on which the round's processes computed.
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

  std::string boot_id;  ///< the same for agents on one machine
  int cpus = 0;         ///< usable by the agent and its ranks; everything below refers to these
  int ranks = 0;        ///< processes started by the agent
  double load = 0;      ///< mean over the last minute before the round
  int runnable = 0;     ///< runnable tasks just before the round, without the agent's own
  double seconds = 0;   ///< by the clock, from before the first rank's start to the last one's end
  double busy_s = 0;    ///< total user and system time
  double own_s = 0;     ///< of the round's processes, the agent and its samplers
  double kernel_s = 0;  ///< of kernel threads, which serve everybody
  int starter_pid = 0;  ///< the controller, if it is the agent's ancestor; else 0
  double starter_s = 0;
  bool own_elsewhere = false;  ///< some of the round's processes are not the agent's children
  bool listed = true;          ///< false: processes were not examined, only the sums are known
  double named_s = 0;          ///< total of all known programs outside the round
  double steal_s = 0;          ///< taken by the hypervisor
  std::optional<double> memory_stalled_s{};  ///< by the clock, with something waiting for memory
  std::optional<std::uint64_t> swapped_bytes{};
  std::optional<double> throttled_s{};  ///< by the clock: heat slowed the hottest core or package
  std::vector<Program> others{};        ///< the few busiest, busiest first

  std::optional<std::vector<OtherRun>> other_runs{};  ///< nothing: not available here

  std::optional<std::vector<DeviceUser>> device_users{};  ///< nothing: none of ours was seen on one

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
