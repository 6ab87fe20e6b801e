#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "telemetry/machine_use.h"
#include "telemetry/procfs.h"
#include "telemetry/program_ledger.h"

namespace assay::telemetry {

/// CPU-seconds of this process and of all children it has waited for.
[[nodiscard]] double self_and_children_s();

/// Watches what else uses this machine while a round runs. The sums come from two readings of the
/// kernel's counters, at the start and at the end; in between, processes are listed rarely enough
/// to cost next to nothing, to name those outside the round.
class MachineWatch {
 public:
  struct Setup {
    std::string round_id;              ///< the ASSAY_ROUND_ID of its processes
    int ranks = 0;                     ///< processes that the agent will start
    bool ranks_elsewhere = false;      ///< a daemon (a container's) will run them: not our children
    bool lists_processes = true;       ///< false if another agent on this machine does
    std::filesystem::path root = "/";  ///< contains proc/, sys/ and etc/; a fake one in tests
    pid_t self = 0;                    ///< the agent; 0: this process
    std::vector<int> cpus{};           ///< empty: those usable by this process
    std::function<double()> own_s = self_and_children_s;  ///< for `self`
  };

  /// Takes the first reading; must happen before the first rank is started.
  MachineWatch(Setup setup, std::int64_t mono_ns);
  /// Lists the processes when due; call it about once a second.
  void look(std::int64_t mono_ns);
  /// Reports what is computing on a device now. Ignores pids of another namespace.
  void device_processes(int device, const std::vector<int>& pids);
  /// The round's processes as of the last listing: those below the agent, including its samplers,
  /// and others that carry the round's id.
  [[nodiscard]] const std::vector<pid_t>& own_processes() const noexcept { return own_processes_; }
  /// Takes the last reading, once the last rank has ended.
  [[nodiscard]] MachineUse finish(std::int64_t mono_ns);

 private:
  struct Counters {
    double user_system_s = 0;
    double not_busy_s = 0;  // idle, waiting for I/O, interrupts, stolen
    double steal_s = 0;
    std::optional<double> memory_stalled_s{};
    std::optional<std::uint64_t> swapped_bytes{};
  };
  // One listing's data about the round's own processes.
  struct Listing {
    double own_s = 0;
    double kernel_s = 0;
    double starter_s = 0;
  };

  void read_before();
  [[nodiscard]] Counters read_counters();
  [[nodiscard]] std::map<std::string, double> read_throttling() const;
  Listing list_processes();
  [[nodiscard]] bool carries_round(pid_t pid) const;
  void ask_for_owners();
  [[nodiscard]] std::vector<MachineUse::Program> worst_programs(double& named_s) const;

  Setup setup_;
  MachineUse use_;
  std::vector<bool> allowed_;
  ProcFile stat_;
  ProcFile pressure_;
  ProcFile vmstat_;
  std::vector<char> buffer_;
  std::int64_t started_ns_ = 0;
  std::int64_t next_look_ns_ = 0;
  std::uint64_t newest_at_start_ = 0;  // start time of the first listing's youngest process
  Counters first_;
  std::map<std::string, double> first_throttling_;
  Listing first_listing_;
  ProgramLedger ledger_;
  std::vector<pid_t> own_processes_;
  // By device, then by pid: the process, if it is not the round's.
  std::map<int, std::map<int, std::optional<MachineUse::DeviceUser>>> on_devices_;
};

}  // namespace assay::telemetry
